# SPDX-License-Identifier: Apache-2.0
"""Renders a conversation as the released chat template does, as runs of text and special tokens with a loss class.

A conversation is a dict: messages, and optionally tools, effort, date, cutoff, spaces (namespace descriptions). A message is
{"role": "system" | "user" | "tool" | "assistant", "content": str or list of parts}; an assistant message may have
"reasoning" and "calls" (list of (name, arguments)); a tool message has "name". A part is a str or ("image", picture).
render() yields ("s", special token, class), ("t", text, class), ("image", picture, class), and ("mark", skill, class) before each turn. Class 0: the prompt; 1: what the
model writes; a message's "class" overrides 1. check_template.py compares this with the template itself.
"""
import json

T1 = ("In this environment you have access to a set of tools you can use to answer the user's question.\n\n"
      "You can invoke a function by writing a \"<atem:function_calls>\" block like the following:\n"
      "<atem:function_calls>\n<atem:invoke name=\"$FUNCTION_NAME\">\n<atem:parameter name=\"$PARAMETER_NAME\">$PARAMETER_VALUE"
      "</atem:parameter>\n...\n</atem:invoke>\n</atem:function_calls>\n\n"
      "String and scalar parameters should be specified as is, while lists and objects should use JSON format. Note that spaces "
      "for string values are not stripped. The output is not expected to be valid XML and is parsed with regular expressions.\n"
      "Here are the functions available in JSONSchema format:\n// Tool metadata\n")
T2 = ("\n\nHere's an example of how to call a function in the tool set:\n"
      "(If the tool namespace is not specified, invoke the function directly as `example_function_name` rather than "
      "`example_tool_name.example_function_name`)\n\nto=example_tool_name.example_function_name\n\n"
      "<atem:function_calls>\n<atem:invoke name=\"example_tool_name.example_function_name\">\n"
      "<atem:parameter name=\"example_parameter_1\">value_1</atem:parameter>\n"
      "<atem:parameter name=\"example_parameter_2\">This is the value for the second parameter\nthat can span\n"
      "\"multiple\" lines\n</atem:parameter>\n</atem:invoke>\n</atem:function_calls>")


def dumps(x):
    return json.dumps(x, ensure_ascii=False)


def spaces_of(tools):
    return list(dict.fromkeys(t["name"].split(".")[0] for t in tools))


def tool_block(tools, described):
    meta = "".join('{"name": %s, "description": %s}\n' % (dumps(n), dumps(described.get(n, ""))) for n in spaces_of(tools))
    defs = "".join('\n{"name": %s, "description": %s, "parameters": %s}' % (dumps(t["name"]), dumps(t["description"]), dumps(t["parameters"]))
                   for t in tools)
    return T1 + meta + "// Function schemas" + defs + T2


def argument(v):
    if v is True or v is False:
        return "true" if v else "false"
    if v is None:
        return "null"
    if isinstance(v, (dict, list)):
        return dumps(v)
    return str(v)


def atem(name, args):
    rows = "".join('<atem:parameter name="%s">%s</atem:parameter>\n' % (k, argument(v)) for k, v in args.items())
    return '<atem:function_calls>\n<atem:invoke name="%s">\n%s</atem:invoke>\n</atem:function_calls>' % (name, rows)


def parts(content):
    return [content] if isinstance(content, str) else content


def render(conv):
    tools = conv.get("tools") or []
    tail = "\n\nReasoning strength: %s." % conv.get("effort", "high")
    if tools:
        tail += "\n\n" + tool_block(tools, conv.get("spaces", {}))
    tail += "\n\n# Valid recipients: " + ", ".join(['"self"'] + ['"%s.*"' % n for n in spaces_of(tools)] + ['"user"']) + "."
    out = [("s", "<|begin_of_text|>", 0)]
    open_ = lambda header, c: out.extend([("s", "<|start|>", c), ("t", header, c), ("s", "<|message|>", c)])
    msgs = conv["messages"]
    if not any(m["role"] == "system" for m in msgs):
        open_("system", 0)
        text = "You are a helpful AI assistant.\nKnowledge cutoff: %s." % conv.get("cutoff", "2026-01-04")
        if conv.get("date"):
            text += "\nCurrent date: %s." % conv["date"]
        out += [("t", text + tail, 0), ("s", "<|eot|>", 0)]
    for i, m in enumerate(msgs):
        role = m["role"]
        if role == "system":
            open_("system", 0)
            out += [("t", m["content"] + tail, 0), ("s", "<|eot|>", 0)]
        elif role == "user":
            open_("user", 0)
            for p in parts(m["content"]):
                out.append(("t", p, 0) if isinstance(p, str) else ("image", p[1], 0))
            out.append(("s", "<|eot|>", 0))
        elif role == "tool":
            open_("tool " + m["name"], 0)
            out += [("t", '<tool_output name="%s">\n%s\n</tool_output>' % (m["name"], m["content"]), 0), ("s", "<|eot|>", 0)]
        else:
            assistant(out, m, i + 1 < len(msgs) and msgs[i + 1]["role"] == "assistant")
    return out


def assistant(out, m, more):
    c = m.get("class", 1)
    steps = []
    if m.get("reasoning"):
        steps.append(("self", m["reasoning"]))
    if m.get("calls"):
        steps += [(n, atem(n, a)) for n, a in m["calls"]]
    else:
        steps.append(("user", m["content"]))
    out.append(("mark", m.get("skill", ""), c))
    for k, (to, body) in enumerate(steps):
        last = k == len(steps) - 1
        head = 0 if k == 0 else c                       # the prompt ends after the first "<|start|>assistant"
        out += [("s", "<|start|>", head), ("t", "assistant", head), ("t", " to=" + to, c), ("s", "<|message|>", c)]
        if body:
            out.append(("t", body, c))
        end = "<|eom|>" if not last or (more and m.get("calls")) else "<|eot|>"
        out.append(("s", end, c))


def plain(conv, picture="<|patch|>"):
    """The rendered text with special tokens spelled out."""
    return "".join(picture if s[0] == "image" else s[1] for s in render(conv) if s[0] != "mark")


def official(conv):
    """The same conversation as the template's own inputs: (messages, tools, variables)."""
    msgs = []
    for m in conv["messages"]:
        if m["role"] == "assistant":
            o = {"role": "assistant"}
            if m.get("reasoning"):
                o["reasoning_content"] = m["reasoning"]
            if m.get("calls"):
                o["tool_calls"] = [{"type": "function", "function": {"name": n, "arguments": a}} for n, a in m["calls"]]
            else:
                o["content"] = m["content"]
        else:
            c = m["content"]
            if not isinstance(c, str):
                c = [{"type": "text", "text": p} if isinstance(p, str) else {"type": "image"} for p in c]
            o = {"role": m["role"], "content": c, **({"name": m["name"]} if m["role"] == "tool" else {})}
        msgs.append(o)
    tools = [{"type": "function", "function": t} for t in conv.get("tools") or []] or None
    return msgs, tools, dict(reasoning_strength=conv.get("effort", "high"), knowledge_cutoff=conv.get("cutoff", "2026-01-04"),
                             current_date=conv.get("date"), tool_namespace_descriptions=conv.get("spaces", {}))
