# SPDX-License-Identifier: Apache-2.0
"""test_parse_cases.py: every output of fixtures/chat/parse.jsonl, said by a model that is made to
say it, comes out of each protocol (chat completions, responses, messages) as the expected message,
whole and streamed."""
import collections
import json
import os
import re
import tempfile
import unittest

import test_anthropic
from script_model import CONTROL, FLAGS, write_script
from serving import ROOT, SLOWER, join_deltas, join_message, join_response, serving

CASES = os.path.join(ROOT, "tests/fixtures/chat/parse.jsonl")
VOCAB = os.path.join(ROOT, "tests/fixtures/chat/vocab_subset.json")
USER = {"role": "user", "content": "?"}


def load_cases():
    with open(CASES, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def load_vocab():
    """id -> bytes of an ordinary token, or the text of a control token."""
    from script_model import SPELLING
    byte_of = {c: b for b, c in enumerate(SPELLING)}
    with open(VOCAB, encoding="utf-8") as file:
        data = json.load(file)
    table = {i: bytes(byte_of[c] for c in text) for i, text in data["tokens"] if i < 200000}
    table.update({i: text for i, text in data["special_tokens"]})
    return table


def parts_of(case, vocab):
    """The case's output as runs of bytes and control tokens."""
    parts = []
    for i in case["ids"]:
        piece = vocab[i]
        if isinstance(piece, bytes) and parts and isinstance(parts[-1], bytes):
            parts[-1] += piece
        else:
            parts.append(piece)
    return parts


def openai_tools(tools):
    return [t if "function" in t else {"type": "function", "function": t} for t in tools or []]


def anthropic_tools(tools):
    functions = [t.get("function", t) for t in tools or []]
    return [{"name": f["name"], "description": f.get("description") or "",
             "input_schema": f.get("parameters") or {}} for f in functions]


def said_by_openai(joined):
    message, finish, _ = joined
    return {"reasoning": message["reasoning"], "content": message["content"],
            "tool_calls": [{"name": c["name"], "arguments": json.loads(c["arguments"])}
                           for c in message["tool_calls"]], "finish_reason": finish}


def said_by_anthropic(message):
    """Joined as OpenAI has it: several blocks of one kind are one text there."""
    text = {"thinking": "", "text": ""}
    calls = []
    for block in message["content"]:
        if block["type"] == "tool_use":
            calls.append({"name": block["name"], "arguments": block["input"]})
        else:
            text[block["type"]] += block[block["type"]]
    reasons = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls"}
    return {"reasoning": text["thinking"], "content": text["text"], "tool_calls": calls,
            "finish_reason": reasons[message["stop_reason"]]}


def said_by_responses(response):
    """Joined as chat completions have it, as above."""
    text = {"reasoning": "", "message": ""}
    calls = []
    for item in response["output"]:
        if item["type"] == "function_call":
            calls.append({"name": item["name"], "arguments": json.loads(item["arguments"])})
        else:
            text[item["type"]] += "".join(part["text"] for part in item["content"])
    finish = {"completed": "tool_calls" if calls else "stop", "incomplete": "length"}
    return {"reasoning": text["reasoning"], "content": text["message"], "tool_calls": calls,
            "finish_reason": finish[response["status"]]}


class ParseCases(unittest.TestCase):
    maxDiff = None

    def body(self, case):
        body = {"messages": [{"role": "system", "content": "s"}, USER], "temperature": 0,
                "tools": openai_tools(case["tools"]), "tool_choice": case["tool_choice"]}
        prefill = {"user": {"content": "X"}, "self": {"content": "", "reasoning_content": "X"}}
        if case["initial_channel"]:
            body["messages"].append({"role": "assistant", **prefill[case["initial_channel"]]})
            body["continue_final_message"] = True
        return body

    def check_responses(self, server, case, n_tokens):
        body = {"instructions": "s", "input": USER["content"], "temperature": 0, "tools": [
            {"type": "function", **t["function"]} for t in openai_tools(case["tools"])],
                "tool_choice": case["tool_choice"]}
        if case["end"] == "length":
            body["max_output_tokens"] = n_tokens
        whole = server.ask("/v1/responses", body)
        self.assertEqual(said_by_responses(whole), case["expected"])
        streamed = join_response(server.stream("/v1/responses", {**body, "stream": True}))
        self.assertEqual(said_by_responses(streamed), case["expected"])

    def check(self, server, case, n_tokens):
        openai = self.body(case)
        if case["end"] == "length":
            openai["max_tokens"] = n_tokens
        whole = join_message(server.ask("/v1/chat/completions", openai))
        if "hallucinated" in case["id"]:  # ends with the header of another role
            self.assertLess(whole[2]["completion_tokens"], n_tokens)
        else:
            self.assertEqual(whole[2]["completion_tokens"], n_tokens)
        self.assertEqual(said_by_openai(whole), case["expected"])
        stream = {**openai, "stream": True, "stream_options": {"include_usage": True}}
        joined = join_deltas(server.stream("/v1/chat/completions", stream))
        self.assertEqual(joined[2]["completion_tokens"], whole[2]["completion_tokens"])
        self.assertEqual(said_by_openai(joined), case["expected"])
        if not case["initial_channel"]:  # responses do not go on with a message
            self.check_responses(server, case, n_tokens)
        if case["initial_channel"] == "self":
            return  # Anthropic's protocol cannot go on with thinking
        messages = [USER] + ([{"role": "assistant", "content": "X"}]
                             if case["initial_channel"] else [])
        anthropic = {"system": "s", "messages": messages, "temperature": 0,
                     "max_tokens": openai.get("max_tokens", 1000),
                     "tools": anthropic_tools(case["tools"])}
        if case["tool_choice"] != "auto":
            anthropic["tool_choice"] = {"type": case["tool_choice"]}
        message = server.ask("/v1/messages", anthropic)
        self.assertEqual(said_by_anthropic(message), case["expected"])
        connection = server.connect()
        connection.request("POST", "/v1/messages", json.dumps({**anthropic, "stream": True}))
        message = test_anthropic.join(test_anthropic.events_of(connection.getresponse()))
        connection.close()
        self.assertEqual(said_by_anthropic(message), case["expected"])

    def test_all(self):
        vocab = load_vocab()
        only = os.environ.get("CASE", "")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script.gguf")
            # The parser has tests of its own under the sanitizers; here a sample is enough.
            for case in load_cases()[::8 if SLOWER > 1 else 1]:
                if not re.search(only, case["id"]):
                    continue
                with self.subTest(case=case["id"]):
                    parts = parts_of(case, vocab)
                    ended = parts and parts[-1] in ("<|eot|>", "<|end_of_text|>")
                    if case["end"] == "eog" and not ended:
                        parts.append("<|eot|>")
                    parts = [p if isinstance(p, bytes) or p in CONTROL else "<|patch|>"
                             for p in parts]  # control tokens that mean nothing in a turn
                    after = b"X" if case["initial_channel"] else b"t"
                    write_script(path, parts, after)
                    with serving("-c", "2048", model=path) as server:
                        prompt = server.ask("/tokenize", self.body(case))["tokens"]
                    n = write_script(path, parts, after, collections.Counter(prompt))
                    with serving("--free-calls", "-c", "2048", *FLAGS, model=path) as server:
                        self.check(server, case, n)


if __name__ == "__main__":
    unittest.main()
