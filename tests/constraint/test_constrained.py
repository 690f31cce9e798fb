#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_constrained.py: turns drawn from random logits, judged by Python's jsonschema.

    test_constrained.py CONSTRAINED_RUN MODEL.gguf [N_SCHEMAS]

500 generated schemas and the tools of agent_tools.json, as answers and as calls that are required,
named or left to the model. Every finished answer must validate, every required turn must hold
calls with arguments that validate. Schemas that are refused are counted and must be few.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    SYSTEM = "/usr/bin/python3"  # where packages of the system are, if this is another one
    if os.path.exists(SYSTEM) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM):
        os.execv(SYSTEM, [SYSTEM, "-B"] + sys.argv)
    print("Python has no jsonschema (Debian: python3-jsonschema): nothing was checked")
    sys.exit(77)

from make_schemas import schema

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_TOKENS = 1500


def parameters_of(tools, name):
    for tool in tools:
        if tool["function"]["name"] == name:
            return tool["function"].get("parameters") or {}
    raise KeyError(name)


def make_jobs(n_schemas):
    jobs = []
    for i in range(n_schemas):
        made = schema(i)
        jobs.append({"id": f"answer {i}", "seed": 2 * i, "runs": 2, "options": {"schema": made}})
        if i % 2 == 0:
            tool = {"type": "function", "function": {"name": "made", "parameters": {
                "type": "object", "properties": {"one": made, "two": {"type": "string"}},
                "required": ["one"], "$defs": made.get("$defs", {})}}}
            jobs.append({"id": f"call {i}", "seed": 2 * i, "runs": 2,
                         "options": {"tools": [tool], "tool_choice": "required"}})
    tools = json.load(open(os.path.join(HERE, "agent_tools.json"), encoding="utf-8"))
    for i, tool in enumerate(tools):
        name = tool["function"]["name"]
        jobs.append({"id": f"named {name}", "seed": 2 * i, "runs": 4,
                     "options": {"tools": tools, "tool_choice": name}})
        jobs.append({"id": f"as answer {name}", "seed": 2 * i, "runs": 2,
                     "options": {"schema": parameters_of(tools, name)}})
    for choice in ("required", "auto", "none"):
        jobs.append({"id": f"tools {choice}", "seed": 0, "runs": 30,
                     "options": {"tools": tools, "tool_choice": choice, "budget": 30}})
    jobs.append({"id": "one call", "seed": 0, "runs": 10,
                 "options": {"tools": tools, "tool_choice": "required", "one_call": True}})
    jobs.append({"id": "object", "seed": 0, "runs": 20, "options": {"json_object": True}})
    return jobs


def check(job, line):
    """A complaint about one run, or None."""
    options, message = job["options"], line["message"]
    choice = options.get("tool_choice", "auto")
    if line["remains"]:
        return f"{line['remains']} bytes belong to no message"
    if "schema" in options and not message["tool_calls"]:
        try:
            value = json.loads(message["content"])
            jsonschema.Draft202012Validator(options["schema"]).validate(value)
        except (ValueError, jsonschema.ValidationError) as error:
            return f"content {message['content'][:300]!r}: {str(error)[:300]}"
    if options.get("json_object") and not isinstance(json.loads(message["content"]), dict):
        return "no object"
    if choice == "none" and message["tool_calls"]:
        return "calls although none are allowed"
    if choice not in ("auto", "none") and not message["tool_calls"]:
        return "no call although one is required"
    if choice not in ("auto", "none", "required") and [
            c["name"] for c in message["tool_calls"]] != [choice]:
        return "calls of another tool"
    if options.get("one_call") and len(message["tool_calls"]) != 1:
        return "more than one call"
    for call in message["tool_calls"]:
        try:
            jsonschema.Draft202012Validator(
                parameters_of(options["tools"], call["name"])).validate(call["arguments"])
        except (KeyError, jsonschema.ValidationError) as error:
            return f"{call['name']} {json.dumps(call['arguments'])[:300]}: {str(error)[:300]}"
    return None


def main():
    program, model = sys.argv[1:3]
    jobs = make_jobs(int(sys.argv[3]) if len(sys.argv) > 3 else 500)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for job in jobs:
            file.write(json.dumps(job) + "\n")
        file.flush()
        done = subprocess.run([program, model, file.name, str(MAX_TOKENS)], capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{program} failed ({done.returncode}): {done.stderr.decode()[-1000:]}")
    by_id = {job["id"]: job for job in jobs}
    n = {"finished": 0, "cut": 0, "refused": 0, "wrong": 0, "calls": 0}
    refused = {}
    for text in done.stdout.decode("utf-8").split("\n")[:-1]:
        line = json.loads(text)
        job = by_id[line["id"]]
        if "error" in line:
            n["refused"] += 1
            refused.setdefault(line["id"], line["error"])
            continue
        if not line["finished"]:
            n["cut"] += 1
            continue
        n["finished"] += 1
        n["calls"] += len(line["message"]["tool_calls"])
        complaint = check(job, line)
        if complaint:
            n["wrong"] += 1
            print(f"{line['id']} run {line['run']}: {complaint}", file=sys.stderr)
    for name, error in refused.items():
        print(f"refused: {name}: {error}")
    print(", ".join(f"{v} {k}" for k, v in n.items()))
    hand = [name for name in refused if not name.startswith(("answer", "call"))]
    if n["wrong"] or hand or n["finished"] < 3 * n["cut"] or 10 * len(refused) > len(jobs):
        sys.exit("failed: something is wrong, cut too often, or refused that should not be")


if __name__ == "__main__":
    main()
