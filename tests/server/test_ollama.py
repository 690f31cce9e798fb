# SPDX-License-Identifier: Apache-2.0
"""test_ollama.py: Ollama's protocol on its own socket with the demo model, whole and streamed."""
import base64
import json
import os
import re
import time
import unittest

from serving import ROOT, SLOWER, Server, join_message

TOOLS = json.load(open(os.path.join(ROOT, "tools/demo/weather.json"), encoding="utf-8"))
QUESTION = [{"role": "user", "content": "What is 47 + 38?"}]
OSLO = [{"role": "user", "content": "What is the weather in Oslo?"}]
KEY = {"Authorization": "Bearer key"}
GREEDY = {"temperature": 0, "num_predict": 200, "num_ctx": 4096, "num_gpu": 99, "num_thread": 1,
          "num_keep": 4, "typical_p": 1.0, "mirostat": 0}
PATHS = {"/api/chat": "message", "/api/generate": "response"}


def join(lines):
    """The lines of a stream as the one object that an answer without a stream is."""
    whole, message = {}, {"content": "", "thinking": "", "tool_calls": []}
    logprobs = []
    for i, line in enumerate(lines):
        assert line["done"] == (i == len(lines) - 1)
        assert line["model"] == "any:7b" and line["created_at"].endswith("Z")
        said = line["message"] if "message" in line else line
        assert said.get("role", "assistant") == "assistant"
        message["content"] += said.get("content", line.get("response"))
        message["thinking"] += said.get("thinking", "")
        message["tool_calls"] += said.get("tool_calls", [])
        logprobs += line.get("logprobs", [])
        whole = line
    return message, whole["done_reason"], whole["eval_count"], logprobs


class Ollama(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--ollama-port", "0", "--api-key", "key", "--cors-origin", "*")
        cls.main_port = cls.server.port
        found = None
        while not found:
            found = re.search(r"OLLAMA_HOST=http://[^ ]*:(\d+)\n", "".join(cls.server.lines))
            time.sleep(0.01)
        cls.server.port = int(found.group(1))

    @classmethod
    def tearDownClass(cls):
        status, said = cls.server.stop()
        assert status == 0, said

    def post(self, path, expect=200, **fields):
        return self.server.ask(path, {"model": "any:7b", **fields}, KEY, expect)

    def lines(self, path, **fields):
        body = json.dumps({"model": "any:7b", **fields})
        status, headers, data = self.server.send("POST", path, body, KEY)
        self.assertEqual((status, headers["Content-Type"]), (200, "application/x-ndjson"), data)
        self.assertTrue(data.endswith(b"\n"))
        return [json.loads(line) for line in data.splitlines()]

    def test_what_there_is(self):
        status, headers, data = self.server.send("GET", "/")
        self.assertEqual((status, data), (200, b"Ollama is running"))
        self.assertEqual(headers["Access-Control-Allow-Origin"], "*")
        self.assertEqual(self.server.send("HEAD", "/")[0], 200)
        version = self.server.ask("/api/version", headers=KEY)["version"].split(".")
        self.assertGreaterEqual([int(v) for v in version], [0, 6, 4])
        tag, = self.server.ask("/api/tags", headers=KEY)["models"]
        loaded, = self.server.ask("/api/ps", headers=KEY)["models"]
        self.assertEqual(tag["name"], "glimmer-mini:latest")
        self.assertEqual((tag["digest"], tag["size"]), (loaded["digest"], loaded["size"]))
        self.assertRegex(tag["digest"], "^[0-9a-f]{64}$")
        self.assertEqual(tag["details"]["quantization_level"], "Q8_0")
        show = self.post("/api/show")
        info = show["model_info"]
        self.assertEqual(info[info["general.architecture"] + ".context_length"],
                         loaded["context_length"])
        self.assertIn("num_ctx", show["parameters"])
        self.assertIn("atem", show["template"])
        self.assertNotIn(".Suffix", show["template"])
        for able in ("completion", "tools", "thinking", "vision"):
            self.assertIn(able, show["capabilities"])
        listed = self.server.ask("/v1/models", headers=KEY)["data"][0]["id"]
        self.assertEqual(listed + ":latest", tag["name"])
        self.assertEqual(self.server.ask("/v1/models/" + tag["name"], headers=KEY)["id"], listed)

    def test_guards(self):
        for path in ("/api/tags", "/api/version", "/v1/models"):
            self.assertEqual(self.server.send("GET", path)[0], 401, path)
        status, _, data = self.server.send("GET", "/api/tags", headers={**KEY, "Host": "evil.org"})
        self.assertEqual((status, list(json.loads(data))), (403, ["error"]))
        own, self.server.port = self.server.port, self.main_port
        try:  # the first socket knows nothing of it
            self.assertEqual(self.server.send("GET", "/api/tags", headers=KEY)[0], 404)
        finally:
            self.server.port = own

    def test_store_is_refused(self):
        for method, path in (("POST", "/api/pull"), ("POST", "/api/push"), ("POST", "/api/create"),
                             ("POST", "/api/copy"), ("DELETE", "/api/delete"), ("POST", "/api/me"),
                             ("POST", "/api/blobs/sha256:00"), ("HEAD", "/api/blobs/sha256:00")):
            status, _, data = self.server.send(method, path, b"{}", KEY)
            self.assertEqual(status, 501, path)
            if method != "HEAD":
                self.assertIsInstance(json.loads(data)["error"], str)

    def test_chat(self):
        cases = ({"messages": QUESTION}, {"messages": OSLO, "tools": TOOLS},
                 {"messages": QUESTION, "options": {**GREEDY, "num_predict": 4}},
                 {"messages": QUESTION, "options": {**GREEDY, "stop": ["85"]}},
                 {"messages": QUESTION, "think": False},
                 {"messages": QUESTION, "logprobs": True, "top_logprobs": 2})
        for fields in cases[1::4] if SLOWER > 1 else cases:
            fields = {"options": GREEDY, **fields}
            lines = self.lines("/api/chat", **fields)
            self.assertGreater(len(lines), 1)
            said = [join(lines), join([self.post("/api/chat", stream=False, **fields)])]
            for message, *_ in said:
                for call in message["tool_calls"]:
                    self.assertTrue(call.pop("id"))
            self.assertEqual(said[0], said[1])
            message, reason, count, logprobs = said[0]
            self.assertEqual(reason, "length" if count == 4 else "stop")
            self.assertEqual(bool(message["thinking"]), fields.get("think", True))
            self.assertEqual(bool(logprobs), "logprobs" in fields)
            if "tools" in fields:
                self.assertEqual(message["tool_calls"], [{"function": {
                    "index": 0, "name": "get_weather", "arguments": {"city": "Oslo"}}}])
        last = self.lines("/api/chat", messages=QUESTION, options=GREEDY)[-1]
        self.assertGreater(last["prompt_eval_count"], 5)
        times = [last[name] for name in ("prompt_eval_duration", "eval_duration")]
        self.assertTrue(10_000 < min(times) and sum(times) <= last["total_duration"], last)
        token = logprobs[0]
        self.assertEqual(token["top_logprobs"][0]["logprob"], token["logprob"])
        self.assertEqual("".join(t["token"] for t in logprobs), message["content"])

    def test_same_as_openai(self):
        answer = self.post("/api/chat", messages=QUESTION, options=GREEDY, stream=False)
        other = self.server.ask("/v1/chat/completions", {
            "messages": QUESTION, "temperature": 0, "max_tokens": 200}, KEY)
        message, _, usage = join_message(other)
        self.assertEqual(answer["message"]["content"], message["content"])
        self.assertEqual(answer["message"]["thinking"], message["reasoning"])
        self.assertEqual(answer["prompt_eval_count"], usage["prompt_tokens"])

    def test_tool_round_trip(self):
        asked = self.post("/api/chat", messages=OSLO, tools=TOOLS, options=GREEDY, stream=False)
        call = asked["message"]["tool_calls"][0]
        result = {"role": "tool", "content": "12 degrees and rain"}
        answers = []
        for more in ({"tool_call_id": call["id"]}, {"tool_name": "get_weather"}, {}):
            history = OSLO + [asked["message"], {**result, **more}]
            answer = self.post("/api/chat", messages=history, tools=TOOLS, options=GREEDY,
                               stream=False)
            self.assertNotIn("tool_calls", answer["message"])
            answers.append((answer["message"]["content"], answer["prompt_eval_count"]))
        self.assertEqual(answers[1:], answers[:1] * 2)

    def test_format(self):
        schema = {"type": "object", "properties": {"sum": {"type": "integer"}},
                  "required": ["sum"], "additionalProperties": False}
        for form, check in (("json", lambda v: isinstance(v, dict)),
                            (schema, lambda v: isinstance(v.get("sum"), int))):
            answer = self.post("/api/chat", messages=QUESTION, options=GREEDY, stream=False,
                               format=form, think="low")
            if answer["done_reason"] == "stop":
                self.assertTrue(check(json.loads(answer["message"]["content"])), answer)

    def test_generate(self):
        fields = {"prompt": "What is 47 + 38?", "options": GREEDY}
        said = join(self.lines("/api/generate", **fields))
        whole = self.post("/api/generate", stream=False, **fields)
        self.assertEqual(join([whole]), said)
        chat = self.post("/api/chat", messages=QUESTION, options=GREEDY, stream=False)
        self.assertEqual(whole["response"], chat["message"]["content"])
        self.assertEqual(whole["thinking"], chat["message"]["thinking"])
        system = self.post("/api/generate", stream=False, system="Be brief.", **fields)
        self.assertNotEqual(system["prompt_eval_count"], whole["prompt_eval_count"])
        raw = self.post("/api/generate", stream=False, raw=True, prompt="systemYou are a helpful",
                        options={**GREEDY, "num_predict": 9})
        other = self.server.ask("/v1/completions", {
            "prompt": "systemYou are a helpful", "temperature": 0, "max_tokens": 9}, KEY)
        self.assertEqual(raw["response"], other["choices"][0]["text"])
        self.assertEqual((raw["done_reason"], raw["eval_count"]), ("length", 9))

    def test_pictures(self):
        with open(os.path.join(ROOT, "tools/demo/shapes.png"), "rb") as file:
            picture = base64.b64encode(file.read()).decode()
        text = "What is in the picture?"
        fields = {"options": GREEDY, "stream": False}
        chat = self.post("/api/chat", messages=[{"role": "user", "content": text,
                                                 "images": [picture]}], **fields)
        one = self.post("/api/generate", prompt=text, images=[picture], **fields)
        parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + picture}},
                 {"type": "text", "text": text}]
        other = self.server.ask("/v1/chat/completions", {
            "messages": [{"role": "user", "content": parts}], "temperature": 0,
            "max_tokens": 200}, KEY)
        self.assertEqual(chat["message"]["content"], join_message(other)[0]["content"])
        self.assertEqual(one["response"], chat["message"]["content"])
        self.assertEqual(chat["prompt_eval_count"], other["usage"]["prompt_tokens"])
        self.post("/api/chat", expect=400, messages=[{"role": "user", "content": text,
                                                      "images": ["?"]}])

    def test_load(self):
        for path, key in PATHS.items():
            for fields in ({}, {"messages": [], "prompt": "", "keep_alive": 0},
                           {"keep_alive": "5m", "stream": False}):
                answer = self.post(path, **fields)
                self.assertEqual((answer["done"], answer["done_reason"]), (True, "load"))
                self.assertIn(key, answer)

    def test_refusals(self):
        ask = {"messages": QUESTION}
        for path, fields, name in (
                ("/api/generate", {"prompt": "x", "suffix": "y"}, "suffix"),
                ("/api/generate", {"prompt": "x", "template": "{{ .Prompt }}"}, "template"),
                ("/api/generate", {"prompt": "x", "context": [1, 2]}, "context"),
                ("/api/generate", {"prompt": 7}, "prompt"),
                ("/api/generate", {"prompt": "x", "raw": True, "format": "json"}, "format"),
                ("/api/generate", {"prompt": "x", "images": [7]}, "images[0]"),
                ("/api/chat", {**ask, "options": {"mirostat": 1}}, "mirostat"),
                ("/api/chat", {**ask, "options": {"typical_p": 0.5}}, "typical_p"),
                ("/api/chat", {**ask, "options": {"temperature": "hot"}}, "temperature"),
                ("/api/chat", {**ask, "options": []}, "options"),
                ("/api/chat", {**ask, "think": 3}, "think"),
                ("/api/chat", {**ask, "think": "deeply"}, "deeply"),
                ("/api/chat", {**ask, "format": "xml"}, "format"),
                ("/api/chat", {**ask, "format": {"type": "object", "not": {}}}, "schema"),
                ("/api/chat", {**ask, "stream": 1}, "stream"),
                ("/api/chat", {"messages": "x"}, "messages"),
                ("/api/chat", {"messages": [7]}, "messages[0]"),
                ("/api/chat", {"messages": [{"role": "user", "content": []}]}, "content"),
                ("/api/chat", {"messages": [{"role": "tool", "content": "x"}]}, "tool_call_id"),
                ("/api/chat", {"messages": [{"role": "user", "content": "word " * 9000}]},
                 "context length")):
            answer = self.post(path, expect=400, **fields)
            self.assertEqual(list(answer), ["error"])
            self.assertIn(name, answer["error"], fields)
        status, _, data = self.server.send("POST", "/api/chat", b"{", KEY)
        self.assertEqual((status, list(json.loads(data))), (400, ["error"]))


if __name__ == "__main__":
    unittest.main()
