# SPDX-License-Identifier: Apache-2.0
"""test_pictures.py: pictures in requests: every protocol's shape, the tokens they count, what is
looked at once, several in order, what is refused, clients that leave, pictures by address.
"""
import base64
import json
import os
import subprocess
import unittest

from serving import DEMO, PROGRAM, ROOT, Server

SHAPES = open(os.path.join(ROOT, "tools/demo/shapes.png"), "rb").read()


def data_url(data, kind="image/png"):
    return f"data:{kind};base64," + base64.b64encode(data).decode()


def part(data):
    return {"type": "image_url", "image_url": {"url": data_url(data)}}


def ask_about(text, *pictures):
    return [{"role": "user", "content": [part(p) for p in pictures] +
             [{"type": "text", "text": text}]}]


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--current-date", "2026-11-30")

    @classmethod
    def tearDownClass(cls):
        status, said = cls.server.stop()
        assert status == 0, said
        assert ", pictures 24 tokens" in said, said

    def content(self, messages, **fields):
        return self.server.chat(messages, **fields)["choices"][0]["message"]["content"]

    def test_same_as_run(self):
        text = "What is in the picture?"
        said = subprocess.run(
            [PROGRAM, "run", "-m", DEMO, "--image", os.path.join(ROOT, "tools/demo/shapes.png"),
             "-p", text, "--temp", "0", "-t", "2", "-q", "--json"],
            check=True, capture_output=True, text=True).stdout
        answer = self.server.chat(ask_about(text, SHAPES))
        self.assertEqual(answer["choices"][0]["message"]["content"], json.loads(said)["content"])
        details = answer["usage"]["prompt_tokens_details"]
        self.assertEqual(details["image_tokens"], 24)
        self.assertEqual(details["text_tokens"], answer["usage"]["prompt_tokens"] - 24)


if __name__ == "__main__":
    unittest.main()
