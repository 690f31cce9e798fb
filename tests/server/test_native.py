# SPDX-License-Identifier: Apache-2.0
"""test_native.py: llama.cpp's /completion and /slots, and embeddings, with the demo model."""
import base64
import json
import math
import os
import struct
import subprocess
import tempfile
import threading
import unittest

from serving import DEMO, PROGRAM, Server, split_events

TEXT = "systemYou are a helpful"  # the demo model knows how that goes on


class Native(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("-np", "2", "--embeddings", "--ollama-port", "0")

    @classmethod
    def tearDownClass(cls):
        status, said = cls.server.stop()
        assert status == 0, said

    def ask(self, path="/completion", expect=200, **fields):
        return self.server.ask(path, {"temperature": 0, "n_predict": 12, **fields}, expect=expect)

    def test_prompts(self):
        ids = self.server.ask("/tokenize", {"content": TEXT, "add_special": True})["tokens"]
        whole = self.ask(prompt=TEXT)
        self.assertEqual((whole["stop"], whole["stop_type"], whole["tokens_predicted"]),
                         (True, "limit", 12))
        self.assertEqual(whole["tokens_evaluated"], len(ids))
        self.assertEqual(whole["timings"]["predicted_n"], 12)
        other = self.server.ask("/v1/completions", {"prompt": TEXT, "temperature": 0,
                                                    "max_tokens": 12})
        self.assertEqual(whole["content"], other["choices"][0]["text"])
        rest = self.server.ask("/detokenize", {"tokens": ids[3:]})["content"]
        for prompt in (ids, ids[:3] + [rest], {"prompt_string": TEXT}, ids[:3] + ids[3:]):
            again = self.ask(prompt=prompt)
            self.assertEqual((again["content"], again["tokens_evaluated"]),
                             (whole["content"], len(ids)), prompt)
        many = self.ask(prompt=[TEXT, ids, {"prompt_string": "systemYou"}])
        self.assertEqual([c["index"] for c in many], [0, 1, 2])
        self.assertEqual([c["content"] for c in many[:2]], [whole["content"]] * 2)

    def test_stream(self):
        fields = {"prompt": TEXT, "temperature": 0, "n_predict": 12, "n_probs": 3,
                  "return_tokens": True}
        whole = self.server.ask("/completion", fields)
        events = list(self.server.stream("/completion", {**fields, "stream": True}))
        self.assertNotIn("[DONE]", events)
        self.assertEqual([e["stop"] for e in events], [False] * (len(events) - 1) + [True])
        self.assertEqual("".join(e["content"] for e in events), whole["content"])
        self.assertEqual(sum((e["tokens"] for e in events), []), whole["tokens"])
        probs = sum((e["completion_probabilities"] for e in events), [])
        self.assertEqual(probs, whole["completion_probabilities"])
        self.assertEqual([p["id"] for p in probs], whole["tokens"])
        self.assertEqual(len(probs[0]["top_logprobs"]), 3)
        self.assertEqual(probs[0]["top_logprobs"][0]["logprob"], probs[0]["logprob"])
        last = dict(events[-1])
        for name in ("tokens_predicted", "tokens_evaluated", "stop_type"):
            self.assertEqual(last[name], whole[name])

    def test_ends(self):
        content = self.ask(prompt=TEXT)["content"]
        word = content[5:8]
        cut = self.ask(prompt=TEXT, stop=["never", word])
        self.assertEqual((cut["stop_type"], cut["stopping_word"]), ("word", word))
        self.assertEqual(cut["content"], content[:content.index(word)])
        none = self.ask(prompt=TEXT, n_predict=0)
        self.assertEqual((none["content"], none["stop_type"]), ("", "limit"))
        schema = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"],
                  "additionalProperties": False}
        held = self.ask(prompt="x", n_predict=60, json_schema=schema)
        self.assertEqual(held["stop_type"], "eos")
        self.assertIn(json.loads(held["content"])["a"], (1, 2))

    def test_two_ways_of_completions(self):
        native = self.server.ask("/completions", {"prompt": TEXT, "n_predict": 2})
        self.assertIn("content", native)
        self.assertIn("choices", self.server.ask("/completions", {"prompt": TEXT, "max_tokens": 2}))

    def test_settings(self):
        settings = self.ask(prompt=TEXT, n_predict=1, top_k=7, seed=5, repeat_last_n=-1,
                            stop=["a"], grammar="", cache_prompt=True, id_slot=-1,
                            samplers=["penalties", "dry", "top_k", "typ_p", "top_p", "min_p",
                                      "xtc", "temperature"])["generation_settings"]
        self.assertEqual((settings["top_k"], settings["seed"], settings["stop"]), (7, 5, ["a"]))
        self.assertEqual(settings["repeat_last_n"], settings["n_ctx"])

    def test_refusals(self):
        for fields, name in (({}, "prompt"), ({"prompt": []}, "prompt"), ({"prompt": 5}, "prompt"),
                             ({"prompt": [1, -1]}, "prompt"), ({"prompt": [{}]}, "prompt"),
                             ({"prompt": {"prompt_string": "x", "multimodal_data": ["AA"]}},
                              "prompt"),
                             ({"prompt": "x", "grammar": "root ::= x"}, "grammar"),
                             ({"prompt": "x", "samplers": ["temperature", "top_k"]}, "samplers"),
                             ({"prompt": "x", "top_n_sigma": 1}, "top_n_sigma"),
                             ({"prompt": "x", "response_fields": ["content"]}, "response_fields"),
                             ({"prompt": "x", "n_probs": 1000}, "n_probs"),
                             ({"prompt": "x", "json_schema": {"not": {}}}, None)):
            error = self.ask(expect=400, **fields)["error"]
            self.assertEqual(error["type"], "invalid_request_error")
            if name:
                self.assertEqual(error["param"], name, fields)

    # ---- slots --------------------------------------------------------------------------------

    def test_slots(self):
        connection = self.server.connect()
        body = {"prompt": TEXT, "n_predict": 2000, "ignore_eos": True, "stream": True}
        connection.request("POST", "/completion", json.dumps(body))
        answer = connection.getresponse()
        events = split_events(answer)
        for _ in range(3):
            next(events)
        slots = self.server.ask("/slots")
        self.assertEqual([s["id"] for s in slots], [0, 1])
        busy, = [s for s in slots if s["is_processing"]]
        self.assertGreater(busy["n_past"], 3)
        self.assertGreater(busy["next_token"]["n_decoded"], 0)
        self.assertTrue(self.server.ask("/slots?fail_on_no_slot=1"))
        answer.close()
        connection.close()
        error = self.server.ask("/slots/0?action=save", {}, expect=501)["error"]
        self.assertEqual(error["type"], "not_supported_error")

    # ---- embeddings ---------------------------------------------------------------------------

    def embed(self, texts, path="/v1/embeddings", expect=200, **fields):
        return self.server.ask(path, {"input": texts, **fields}, expect=expect)

    def test_embeddings(self):
        ids = self.server.ask("/tokenize", {"content": "a cat", "add_special": True})["tokens"]
        one = self.embed("a cat")
        vector = one["data"][0]["embedding"]
        self.assertAlmostEqual(sum(x * x for x in vector), 1, places=5)
        self.assertEqual(one["usage"]["prompt_tokens"], len(ids))
        for texts in (ids, [ids], ["a cat"]):
            self.assertEqual(self.embed(texts)["data"][0]["embedding"], vector)
        many = self.embed(["a dog", "a cat", "x"], model="m")
        self.assertEqual((many["model"], [d["index"] for d in many["data"]]), ("m", [0, 1, 2]))
        self.assertEqual(many["data"][1]["embedding"], vector)
        self.assertNotEqual(many["data"][0]["embedding"], vector)
        packed = self.embed("a cat", encoding_format="base64", dimensions=len(vector))
        packed = base64.b64decode(packed["data"][0]["embedding"], validate=True)
        for x, y in zip(struct.unpack(f"<{len(vector)}f", packed), vector, strict=True):
            self.assertAlmostEqual(x, y, places=7)

    def test_embedding_is_the_hidden_row(self):
        ids = self.server.ask("/tokenize", {"content": TEXT, "add_special": True})["tokens"]
        with tempfile.NamedTemporaryFile() as file:
            subprocess.run([PROGRAM, "eval", "-m", DEMO, "--ids", ",".join(map(str, ids)),
                            "--hidden", file.name, "--last", "1", "-t", "2", "-q"],
                           check=True, stdout=subprocess.DEVNULL)
            data = file.read()
        vector = self.embed(TEXT)["data"][0]["embedding"]
        row = struct.unpack(f"<{len(vector)}f", data[-4 * len(vector):])
        length = math.sqrt(sum(x * x for x in row))
        for x, y in zip(row, vector):
            self.assertAlmostEqual(x / length, y, places=6)

    def test_more_texts_than_the_queue_holds(self):
        answer = self.embed([f"text {i % 7}" for i in range(150)])
        self.assertEqual(len(answer["data"]), 150)
        self.assertEqual(answer["data"][0]["embedding"], answer["data"][147]["embedding"])

    def test_ollama_embeddings(self):
        vector = self.embed("a cat")["data"][0]["embedding"]
        line, = [x for x in self.server.lines if "OLLAMA_HOST" in x]
        own, self.server.port = self.server.port, int(line.rsplit(":", 1)[1])
        try:
            answer = self.embed(["a cat", "a dog"], "/api/embed", model="m", keep_alive="5m")
            self.assertEqual((answer["model"], answer["embeddings"][0]), ("m", vector))
            self.assertEqual(len(answer["embeddings"]), 2)
            self.assertEqual(self.embed("a cat", "/api/embed")["embeddings"], [vector])
            answer = self.server.ask("/api/embeddings", {"prompt": "a cat"})
            self.assertEqual(answer["embedding"], vector)
            self.assertIsInstance(self.embed([], "/api/embed", 400)["error"], str)
        finally:
            self.server.port = own

    def test_embedding_refusals(self):
        for fields, name in (({"texts": []}, "input"), ({"texts": [[]]}, "input"),
                             ({"texts": 7}, "input"), ({"texts": None}, "input"),
                             ({"texts": "x", "dimensions": 4}, "dimensions"),
                             ({"texts": "x", "encoding_format": "int8"}, "encoding_format"),
                             ({"texts": ["x"] * 3000}, "input")):
            error = self.embed(expect=400, **fields)["error"]
            self.assertEqual(error["param"], name, fields)
        self.embed("word " * 9000, expect=400)


class Off(unittest.TestCase):
    def test_embeddings_are_off(self):
        server = Server("--alias", "org/model:q4")
        try:
            entry, = server.ask("/v1/models")["data"]
            self.assertEqual((entry["id"], entry["root"]), ("org/model:q4",) * 2)
            self.assertNotIn("embedding", entry["capabilities"])
            self.assertGreater(entry["meta"]["n_params"], 1e6)
            version = {"anthropic-version": "2026-10-21"}
            for path in ("/v1/models/org/model:q4", "/models/org%2Fmodel%3Aq4"):
                self.assertEqual(server.ask(path), entry)
                self.assertEqual(server.ask(path, headers=version)["display_name"], entry["id"])
            error = server.ask("/v1/embeddings", {"input": "x"}, expect=501)["error"]
            self.assertEqual(error["type"], "not_supported_error")
            self.assertIn("--embeddings", error["message"])
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
