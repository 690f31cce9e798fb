# SPDX-License-Identifier: Apache-2.0
"""test_drafting.py: nobody can tell from an answer whether there is a drafter: calls and schemas
that are enforced, stop strings, limits, log-probabilities, penalties, pictures, second turns,
several at once, clients that leave. And the numbers that tell what it did.
"""
import base64
import json
import os
import time
import unittest

from serving import ROOT, join_deltas, join_message, serving
from test_sequences import CHAT, WEATHER, in_threads, plain, user

PNG = open(os.path.join(ROOT, "tools/demo/shapes.png"), "rb").read()
PICTURE = "data:image/png;base64," + base64.b64encode(PNG).decode()
SUM = user("What is 47 + 38?")
SCHEMA = {"type": "object", "required": ["sum", "words"], "additionalProperties": False,
          "properties": {"sum": {"type": "integer", "minimum": 0, "maximum": 999},
                         "words": {"type": "array", "items": {"enum": ["red", "green", "blue"]},
                                   "minItems": 2, "maxItems": 4}}}


def requests():
    """One of each kind."""
    return [
        {"messages": [SUM]},
        {"messages": [user("What is the weather in Oslo and in Rome?")], "tools": WEATHER},
        {"messages": [user("Who are you?")], "tools": WEATHER, "tool_choice": "required"},
        {"messages": [user("Name two colours.")], "seed": 3, "temperature": 1.3,
         "response_format": {"type": "json_schema",
                             "json_schema": {"name": "x", "schema": SCHEMA}}},
        {"messages": [SUM], "stop": ["5", "is"]},
        {"messages": [SUM], "max_tokens": 7},
        {"messages": [user("Tell me about glint.")], "logprobs": True, "top_logprobs": 3},
        {"messages": [user("Tell me about glint.")], "seed": 9, "temperature": 1.1, "top_p": 0.9,
         "frequency_penalty": 0.4, "repeat_penalty": 1.2},
        {"messages": [user([{"type": "image_url", "image_url": {"url": PICTURE}},
                            {"type": "text", "text": "What is in the picture?"}])]},
        {"messages": [SUM, {"role": "assistant", "content": "85"}, user("And 12 more?")]},
        {"messages": [SUM], "reasoning_budget_tokens": 5},
    ]


def body_of(request, **fields):
    return {"temperature": 0, "max_tokens": 100, **request, **fields}


def tokens(answer):
    return answer["choices"][0].get("logprobs")


class Drafting(unittest.TestCase):
    def test_same_answers(self):
        asked = requests()
        with serving("--no-draft") as server:
            whole = [server.ask(CHAT, body_of(r)) for r in asked]
            self.assertNotIn("draft", whole[0]["timings"])
            self.assertEqual(server.metric("draft_rounds_total"), 0)
        wanted = [plain(join_message(answer)) for answer in whole]
        for n, answer in enumerate(wanted):
            self.assertTrue(answer[0]["content"] or answer[0]["tool_calls"] or n == 5, n)
        sums = dict.fromkeys(("rounds", "proposed", "accepted"), 0)
        # The drafter beside the model is found; always six tokens ahead, whether it pays or not.
        with serving("--draft-max", "6", "-np", "4", "--queue", "30") as server:
            def check(i):
                request, want = asked[i // 2], wanted[i // 2]
                if i % 2:
                    body = body_of(request, stream=True, stream_options={"include_usage": True})
                    self.assertEqual(plain(join_deltas(server.stream(CHAT, body))), want, i)
                    return
                answer = server.ask(CHAT, body_of(request))
                self.assertEqual(plain(join_message(answer)), want, i)
                self.assertEqual(tokens(answer), tokens(whole[i // 2]))

            in_threads(check, 2 * len(asked))
            before = {name: server.metric(f"draft_{name}_total") for name in (
                "rounds", "proposed_tokens", "accepted_tokens")}
            for request in asked[:4]:
                timings = server.ask(CHAT, body_of(request))["timings"]
                draft = timings.get("draft", {"rounds": 0, "proposed": 0, "accepted": 0})
                self.assertLessEqual(draft["accepted"], draft["proposed"])
                self.assertLessEqual(draft["proposed"], 6 * draft["rounds"])
                self.assertEqual(timings.get("draft_n", 0), draft["proposed"])
                self.assertEqual(timings.get("draft_n_accepted", 0), draft["accepted"])
                sums = {name: sums[name] + draft[name] for name in sums}
            for name, more in (("rounds", ""), ("proposed", "_tokens"), ("accepted", "_tokens")):
                grown = server.metric(f"draft_{name}{more}_total") - before[name + more]
                self.assertEqual(grown, sums[name])
            self.assertGreater(sums["accepted"], sums["rounds"], sums)
            self.leave_in_a_round(server, body_of(asked[0]), wanted[0])

    def leave_in_a_round(self, server, body, want):
        """A client leaves while tokens are tried ahead; what follows is as if it had not been."""
        endless = {**body, "max_tokens": 1500, "ignore_eos": True, "stream": True}
        for _ in range(3):
            events = server.stream(CHAT, endless)
            for _ in range(4):
                next(events)
            events.close()
        end = time.time() + 30
        while server.metric("requests_running") and time.time() < end:
            time.sleep(0.02)
        self.assertEqual(server.metric("requests_running"), 0)
        self.assertEqual(plain(join_message(server.ask(CHAT, body))), want)


if __name__ == "__main__":
    unittest.main()
