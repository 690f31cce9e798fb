# SPDX-License-Identifier: Apache-2.0
"""test_completions.py: plain completions of the demo model; the log-probabilities of prompts are
those of `glint eval`."""
import math
import os
import struct
import subprocess
import tempfile
import unittest

from serving import DEMO, PROGRAM, Server

PATH = "/v1/completions"
TEXT = "systemYou are a helpful"  # the demo model knows how that goes on
ODD = "The quick brown fox. Zoë: 你好!"


class Completions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("-np", "3")

    @classmethod
    def tearDownClass(cls):
        status, said = cls.server.stop()
        assert status == 0, said

    def ask(self, expect=200, **fields):
        return self.server.ask(PATH, {"temperature": 0, "max_tokens": 12, **fields}, expect=expect)

    def test_prompts(self):
        ids = self.server.ask("/tokenize", {"content": TEXT, "add_special": True})["tokens"]
        by_text = self.ask(prompt=TEXT)
        self.assertEqual(by_text["object"], "text_completion")
        self.assertEqual(by_text["usage"]["prompt_tokens"], len(ids))
        self.assertEqual(by_text["choices"][0]["finish_reason"], "length")
        self.assertIsNone(by_text["choices"][0]["logprobs"])
        text = by_text["choices"][0]["text"]
        self.assertEqual(self.ask(prompt=ids)["choices"][0]["text"], text)
        many = self.ask(prompt=[TEXT, "systemYou are", TEXT])
        self.assertEqual([c["index"] for c in many["choices"]], [0, 1, 2])
        self.assertEqual([many["choices"][i]["text"] for i in (0, 2)], [text, text])
        self.assertEqual(self.ask(prompt=[ids, ids])["choices"][1]["text"], text)
        self.assertEqual(many["usage"]["completion_tokens"], 36)
        self.assertEqual(len(self.ask(prompt=[TEXT, "x"], n=2)["choices"]), 4)

    def test_stream(self):
        fields = {"prompt": [TEXT, "systemYou are"], "temperature": 0, "max_tokens": 10,
                  "logprobs": 1}
        whole = self.server.ask(PATH, fields)
        texts, tokens, finish = ["", ""], [[], []], [None, None]
        events = list(self.server.stream(PATH, {**fields, "stream": True,
                                                "stream_options": {"include_usage": True}}))
        self.assertEqual(events[-1], "[DONE]")
        self.assertEqual(events[-2]["usage"]["completion_tokens"], 20)
        for event in events[:-2]:
            for choice in event["choices"]:
                texts[choice["index"]] += choice["text"]
                tokens[choice["index"]] += (choice["logprobs"] or {"tokens": []})["tokens"]
                finish[choice["index"]] = choice["finish_reason"]
        self.assertEqual(texts, [c["text"] for c in whole["choices"]])
        self.assertEqual(tokens, [c["logprobs"]["tokens"] for c in whole["choices"]])
        self.assertEqual(finish, ["length", "length"])

    def test_stop(self):
        text = self.ask(prompt=TEXT)["choices"][0]["text"]
        stop = text[4:7]
        choice = self.ask(prompt=TEXT, stop=stop)["choices"][0]
        self.assertEqual((choice["text"], choice["finish_reason"]),
                         (text[:text.index(stop)], "stop"))

    def scores(self, ids):
        """Log-probability of each id but the first, by `glint eval`."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "logits")
            subprocess.run([PROGRAM, "eval", "-m", DEMO, "--ids", ",".join(map(str, ids)),
                            "--logits", path, "-t", "2", "-q"], check=True,
                           stdout=subprocess.DEVNULL)
            with open(path, "rb") as file:
                data = file.read()
        width = len(data) // 4 // len(ids)
        found = []
        for i, following in enumerate(ids[1:]):
            row = struct.unpack_from(f"<{width}f", data, 4 * width * i)
            best = max(row)
            log_sum = best + math.log(sum(math.exp(x - best) for x in row))
            found.append((row[following] - log_sum, max(row) - log_sum))
        return found

    def test_echo(self):
        ids = self.server.ask("/tokenize", {"content": ODD, "add_special": True})["tokens"]
        for prompt in (ids, ids * 60):  # one chunk, several
            answer = self.ask(prompt=prompt, echo=True, logprobs=2, max_tokens=0)
            choice = answer["choices"][0]
            self.assertEqual(answer["usage"]["completion_tokens"], 0)
            found = choice["logprobs"]
            self.assertEqual(choice["text"], ODD * prompt.count(ids[0]))
            self.assertEqual(len(found["tokens"]), len(prompt))
            self.assertEqual(found["tokens"][0], "<|begin_of_text|>")
            self.assertIsNone(found["token_logprobs"][0])
            self.assertIsNone(found["top_logprobs"][0])
            for got, top, (score, best) in zip(found["token_logprobs"][1:],
                                               found["top_logprobs"][1:], self.scores(prompt)):
                self.assertAlmostEqual(got, score, places=4)
                self.assertAlmostEqual(max(top.values()), best, places=4)
            offsets = found["text_offset"]
            self.assertEqual(offsets[0], 0)
            self.assertEqual(sorted(offsets), offsets)
            self.assertEqual(offsets[len(ids) - 1], len(ODD) - len(found["tokens"][len(ids) - 1]))
            self.assertTrue(any(t.startswith("bytes:\\x") for t in found["tokens"]))
        text = self.ask(prompt=TEXT, echo=True, max_tokens=4)["choices"][0]["text"]
        self.assertEqual(text, TEXT + self.ask(prompt=TEXT, max_tokens=4)["choices"][0]["text"])

    def test_refusals(self):
        for field, value in (("prompt", None), ("prompt", [-1]), ("prompt", [[]]),
                             ("prompt", {}), ("suffix", "x"), ("logprobs", 99), ("best_of", 3),
                             ("max_tokens", -1), ("echo", "yes"), ("stop", 3)):
            answer = self.ask(**{"expect": 400, "prompt": "x", field: value})
            self.assertEqual(answer["error"]["param"], field, answer)
        self.assertEqual(self.ask(expect=400, prompt="x", echo=True, stop="y")["error"]["param"],
                         "stop")
        error = self.ask(expect=400, prompt=[5] * 9000)["error"]
        self.assertEqual(error["code"], "context_length_exceeded")


if __name__ == "__main__":
    unittest.main()
