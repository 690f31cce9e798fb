# SPDX-License-Identifier: Apache-2.0
"""test_mutations.py: 10,000 requests (MUTATIONS) with something wrong in them, over all paths and
protocols, many on one connection: each gets an answer or an error in its protocol's shape, none
the status 500, and the process lives. SEED picks others."""
import json
import os
import random
import re
import socket
import tempfile
import unittest

from script_model import write_script
from serving import ROOT, SLOWER, serving

COUNT = int(os.environ.get("MUTATIONS", "10000" if SLOWER == 1 else "500"))
SEED = int(os.environ.get("SEED", "1"))
WEATHER = json.load(open(os.path.join(ROOT, "tools/demo/weather.json"), encoding="utf-8"))
FUNCTION = WEATHER[0]["function"]
CALL = {"id": "c1", "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0},
                                           "b": {"enum": ["x", 1, None]}}, "required": ["a"]}
SAMPLERS = ["penalties", "top_k", "top_p", "min_p", "temperature"]
PICTURE = "data:image/png;base64,iVBORw0KGgo="
SAMPLING = {"temperature": 0.5, "top_p": 0.9, "top_k": 3, "min_p": 0.1, "seed": 7, "stop": ["@"],
            "frequency_penalty": 0.1, "logit_bias": {"5": -1}, "max_tokens": 3}
TURNS = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "What is it?"},
         {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [CALL]},
         {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "rain"}]},
         {"role": "user", "content": [{"type": "text", "text": "é\u4e16"}]}]
OLLAMA_TURNS = [{"role": "user", "content": "a"},
                {"role": "assistant", "tool_calls": [{"function": {
                    "name": "get_weather", "arguments": {"city": "Oslo"}}}]},
                {"role": "tool", "tool_name": "get_weather", "content": "rain"}]
BLOCKS = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]

# path, protocol, body. Ollama's paths are on the second socket.
SEEDS = [
    ("/v1/chat/completions", "openai", {
        "model": "m", "messages": TURNS, "tools": WEATHER, "tool_choice": "auto", **SAMPLING}),
    ("/v1/chat/completions", "openai", {
        "messages": TURNS[:2], "stream": True, "stream_options": {"include_usage": True}, "n": 2,
        "logprobs": True, "top_logprobs": 2, "reasoning_effort": "low", **SAMPLING}),
    ("/chat/completions", "openai", {"messages": TURNS[:2], "response_format": {
        "type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA}}, "max_tokens": 9}),
    ("/v1/chat/completions", "openai", {"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}}]}]}),
    ("/v1/responses", "openai", {
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]},
                  {"type": "function_call", "call_id": "c1", "name": "get_weather",
                   "arguments": "{}"},
                  {"type": "function_call_output", "call_id": "c1", "output": "rain"}],
        "tools": [{"type": "function", **FUNCTION}, {"type": "web_search"}], "stream": True,
        "reasoning": {"effort": "low", "summary": "auto"}, "max_output_tokens": 3,
        "instructions": "Be short.", "include": ["message.output_text.logprobs"]}),
    ("/v1/responses", "openai", {"input": "a", "previous_response_id": "resp_x", "store": True,
                                 "text": {"format": {"type": "json_schema", "name": "s",
                                                     "schema": SCHEMA}}}),
    ("/v1/responses/input_tokens", "openai", {"input": "a"}),
    ("/v1/completions", "openai", {"prompt": ["a", "b"], "logprobs": 2, "n": 2, **SAMPLING}),
    ("/completions", "openai", {"prompt": [[1, 2]], "echo": True, "logprobs": 2, "max_tokens": 0}),
    ("/v1/embeddings", "openai", {"input": ["a", [1, 2]], "encoding_format": "base64"}),
    ("/v1/messages?beta=true", "anthropic", {
        "system": BLOCKS, "max_tokens": 3, "stream": True, "stop_sequences": ["@"],
        "thinking": {"type": "enabled", "budget_tokens": 1024}, "metadata": {"user_id": "u"},
        "messages": [{"role": "user", "content": BLOCKS},
                     {"role": "assistant", "content": [
                         {"type": "thinking", "thinking": "Hm.", "signature": ""},
                         {"type": "tool_use", "id": "c1", "name": "get_weather",
                          "input": {"city": "Oslo"}}]},
                     {"role": "user", "content": [
                         {"type": "tool_result", "tool_use_id": "c1", "content": BLOCKS}]}],
        "tools": [{"name": "get_weather", "input_schema": FUNCTION["parameters"]}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
    ("/v1/messages/count_tokens", "anthropic", {"messages": [{"role": "user", "content": "a"}]}),
    ("/completion", "openai", {"prompt": ["a", 1, "b"], "n_predict": 3, "n_probs": 2,
                               "samplers": SAMPLERS, "json_schema": SCHEMA}),
    ("/completion", "openai", {"prompt": [{"prompt_string": "a"}, [1, 2]], "stream": True,
                               "n_predict": 3, "logit_bias": [[5, -1]]}),
    ("/tokenize", "openai", {"content": "a", "add_special": True, "with_pieces": True}),
    ("/detokenize", "openai", {"tokens": [1, 2, 3]}),
    ("/apply-template", "openai", {"messages": TURNS, "tools": WEATHER}),
    ("/api/chat", "ollama", {
        "model": "m", "messages": OLLAMA_TURNS, "tools": WEATHER, "think": "low", "format": SCHEMA,
        "options": {"temperature": 0.5, "num_predict": 3, "stop": ["@"], "num_ctx": 4096},
        "keep_alive": "5m"}),
    ("/api/generate", "ollama", {"prompt": "a", "system": "b", "think": True,
                                 "stream": False, "options": {"num_predict": 3}}),
    ("/api/embed", "ollama", {"input": ["a", "b"], "truncate": True}),
    ("/api/show", "ollama", {"model": "m", "verbose": True}),
    ("/api/pull", "ollama", {"model": "m", "stream": False}),
]
VALUES = [None, True, False, 0, -1, 1, 2**31, 2**63, -2**63, 1e308, 0.1, "", "a", "\0", "\ud800",
          "\U0001f600" * 40, "a" * 3000, [], {}, [[]], [None], [{}], {"type": "text"}, {"a": {}},
          "<|eot|>", "auto", "required", "$ref", [1, "a", {}], -0.0, 4096, "assistant"]
PIECES = [b"null", b"-1", b"1e999", b"NaN", b"\"", b"\\", b"\\u0000", b"\\ud800", b"{", b"}", b"[",
          b"]", b",", b":", b"\xff", b"\xc3", b"\0", b"[" * 300, b"{\"a\":" * 300, b"9" * 400,
          b"\xef\xbb\xbf", b" " * 50, b"\"messages\":[],", b"\"stream\":true,", b"\"n\":100000,"]


def mutate_value(draw, value):
    """One node of the tree is another value, or gone, or there twice."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        key = draw.choice(list(value))
        out = dict(value)
        kind = draw.random()
        if kind < 0.1:
            del out[key]
        elif kind < 0.15:
            out[draw.choice(["", "type", "role", "x", key + "s"])] = out.pop(key)
        else:
            out[key] = mutate_value(draw, value[key])
        return out
    if isinstance(value, list) and value and draw.random() < 0.85:
        i = draw.randrange(len(value))
        kind = draw.random()
        if kind < 0.1:
            return value[:i] + value[i + 1:]
        if kind < 0.2:
            return value[:i] + [value[i]] * draw.choice([2, 2, 2, 50]) + value[i:]
        return value[:i] + [mutate_value(draw, value[i])] + value[i + 1:]
    return draw.choice(VALUES)


def mutate_bytes(draw, data):
    i, j = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    kind = draw.randrange(6)
    if kind == 0:
        return data[:i]
    if kind == 1:
        return data[:i] + draw.choice(PIECES) + data[i:]
    if kind == 2:
        return data[:i] + draw.choice(PIECES) + data[min(len(data), i + draw.randrange(1, 9)):]
    if kind == 3:
        return data[:i] + bytes([draw.randrange(256)]) + data[i + 1:]
    if kind == 4:
        return data[:i] + data[min(j, i + 30):]
    return data[:j] + data[i:min(j, i + 60)] + data[j:]


def chunked(draw, data):
    out = b""
    while data:
        n = draw.randrange(1, 400)
        out += b"%x\r\n%s\r\n" % (len(data[:n]), data[:n])
        data = data[n:]
    return out + b"0\r\n\r\n"


class Reader:
    """Answers on one connection, one after another."""

    def __init__(self, connection):
        self.file = connection.makefile("rb")

    def answer(self):
        """(status, type, body); the rules of HTTP's framing are checked on the way."""
        line = self.file.readline()
        found = re.fullmatch(rb"HTTP/1\.1 (\d{3}) [^\r]*\r\n", line)
        assert found, line
        headers = {}
        while (line := self.file.readline()) != b"\r\n":
            name, value = line.decode().rstrip("\r\n").split(": ", 1)
            headers[name.lower()] = value
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while n := int(self.file.readline(), 16):
                body += self.file.read(n)
                assert self.file.read(2) == b"\r\n"
            assert self.file.readline() == b"\r\n"
        else:
            body = self.file.read(int(headers["content-length"]))
        return int(found.group(1)), headers.get("content-type"), body


def check_error(protocol, body):
    error = json.loads(body)
    if protocol == "ollama":
        assert isinstance(error["error"], str) and error["error"], body
        return
    if protocol == "anthropic":
        assert error["type"] == "error" and error["request_id"], body
    assert error["error"]["type"] and error["error"]["message"], body


def check_answer(protocol, status, kind, body):
    if status != 200:
        assert status in (400, 404, 413, 501), (status, body)
        check_error(protocol, body)
    elif kind == "text/event-stream":
        for event in body.decode().split("\n\n"):
            data = "".join(line[6:] for line in event.split("\n") if line.startswith("data: "))
            if data and data != "[DONE]":
                json.loads(data)
    elif kind == "application/x-ndjson":
        for line in body.decode().splitlines():
            json.loads(line)
    else:
        json.loads(body)


class Mutations(unittest.TestCase):
    def one(self, draw):
        """A mutated request: (protocol, its bytes, a note of what it was)."""
        path, protocol, body = draw.choice(SEEDS)
        for _ in range(draw.choice([1, 1, 1, 2])):
            body = mutate_value(draw, body)
        data = json.dumps(body, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
        if draw.random() < 0.1 and isinstance(body, dict) and body:  # a key twice
            data = data[:-1] + b", " + json.dumps({draw.choice(list(body)): draw.choice(VALUES)},
                                                  ).encode()[1:]
        if draw.random() < 0.35:
            for _ in range(draw.choice([1, 1, 3])):
                data = mutate_bytes(draw, data)
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n".encode()
        if draw.random() < 0.2:
            request = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(draw, data)
        else:
            request = head + b"Content-Length: %d\r\n\r\n%s" % (len(data), data)
        return protocol, request

    def talk(self, port, requests):
        """All at once on one connection; the answers come in order."""
        with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
            connection.sendall(b"".join(request for _, request in requests))
            reader = Reader(connection)
            for protocol, request in requests:
                try:
                    status, kind, body = reader.answer()
                    check_answer(protocol, status, kind, body)
                except (AssertionError, ValueError, KeyError, OSError) as fault:
                    raise AssertionError(f"{fault!r} after {request!r}") from fault
                self.seen[protocol, status] = self.seen.get((protocol, status), 0) + 1

    def check_deep(self, protocol, port):
        """5,000 levels: refused by every path that reads a body, in its protocol's shape."""
        for path, owner, _ in SEEDS:
            if owner == protocol and path != "/api/pull":  # which reads none
                deep = b'{"messages":' + b"[" * 5000 + b"]" * 5000 + b"}"
                with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
                    connection.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
                                       f"Content-Length: {len(deep)}\r\n\r\n".encode() + deep)
                    status, _, body = Reader(connection).answer()
                self.assertEqual(status, 400, path)
                check_error(protocol, body)

    def check_heads(self, draw, port):
        """Bytes wrong anywhere, the head too, and the client gone: some answer, or none."""
        open_ones = []
        for _ in range(COUNT // 20):
            request = mutate_bytes(draw, self.one(draw)[1])
            connection = socket.create_connection(("127.0.0.1", port), timeout=120)
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            open_ones.append((connection, request))
        for connection, request in open_ones:
            with connection:
                try:
                    answer = connection.makefile("rb").read()
                except ConnectionResetError:
                    answer = b""
            if answer:
                self.assertRegex(answer, rb"^HTTP/1\.[01] (?!500)\d{3} ", request)

    def test_all(self):
        draw = random.Random(SEED)
        self.seen = {}
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "script.gguf")
            write_script(model, [b" to=user", "<|message|>", b"Hello.", "<|eot|>"], context=2560)
            flags = ["--ollama-port", "0", "-n", "4", "--embeddings",
                     "--checkpoints", "40", "--cache-size", "100000",  # so that little is evaluated
                     "--store", os.path.join(folder, "responses.db")]
            with serving(*flags, model=model) as server:
                found = server.wait_for_line(r"OLLAMA_HOST=http://\S*:(\d+)")
                ports = {"openai": server.port, "anthropic": server.port,
                         "ollama": int(found.group(1))}
                for protocol, port in ports.items():
                    self.check_deep(protocol, port)
                for _ in range(COUNT // 20):
                    batch = [self.one(draw) for _ in range(20)]
                    for port in set(ports.values()):
                        self.talk(port, [r for r in batch if ports[r[0]] == port])
                self.check_heads(draw, server.port)
                self.assertEqual(json.loads(server.send("GET", "/health")[2]), {"status": "ok"})
        print(dict(sorted(self.seen.items())))
        for protocol in ports:
            for status in (200, 400):
                self.assertGreater(self.seen[protocol, status], COUNT // 200, (protocol, status))


if __name__ == "__main__":
    unittest.main()
