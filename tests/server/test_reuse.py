# SPDX-License-Identifier: Apache-2.0
"""test_reuse.py: what has been evaluated once is not evaluated again: conversations in turns,
answers asked for again, edited messages, one system text for many. The same answers, to the bit, as
from a server that uses nothing again."""
import json
import os
import tempfile
import unittest

from serving import ROOT, SLOWER, serving

CHAT = "/v1/chat/completions"
WEATHER = json.load(open(os.path.join(ROOT, "tools/demo/weather.json"), encoding="utf-8"))
# The sliding layers' ring of the demo model has turned over beyond 1,024 tokens.
LONG = "The rain in Spain stays mainly in the plain, and so does the wind. " * 72
FLAGS = ("-np", "1", "--current-date", "2026-11-30", "--checkpoints", "12", "--cache-size", "16384")


def user(text):
    return {"role": "user", "content": text}


def system(text):
    return {"role": "system", "content": text}


class Talk:
    """A server, the answers it gave, and how much of each prompt it evaluated."""

    def __init__(self, server):
        self.server = server
        self.answers = []

    def ask(self, messages, **fields):
        """Returns (message, tokens that were there, tokens evaluated)."""
        rows = self.server.metric("prefill_rows_total")
        answer = self.server.ask(CHAT, {"messages": messages, "temperature": 0, "max_tokens": 24,
                                        "logprobs": True, "tools": WEATHER, **fields})
        choice, usage = answer["choices"][0], answer["usage"]
        calls = [call["function"] for call in choice["message"].get("tool_calls", [])]
        self.answers.append((choice["message"]["content"], calls, choice["logprobs"]))
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        new = self.server.metric("prefill_rows_total") - rows
        assert new == usage["prompt_tokens"] - cached
        self.end = usage["prompt_tokens"] + usage["completion_tokens"] - 1
        return choice["message"], cached, new


class Prefixes(unittest.TestCase):
    def both(self, script, *flags):
        """script(talk, reuse) with a server that uses things again and with one that does not."""
        with serving(*FLAGS, *flags) as server:
            warm = Talk(server)
            script(warm, True)
        if SLOWER > 1:  # what is compared is the same in every build
            return
        with serving(*FLAGS, *flags, "--no-reuse") as server:
            cold = Talk(server)
            script(cold, False)
        self.assertEqual(warm.answers, cold.answers)

    def test_more_conversations_than_sequences(self):
        def script(talk, reuse):
            histories = [[system(LONG[:1500] + f"You are number {i}."), user("Who are you?")]
                         for i in range(2)]
            ends = [0] * 2
            for turn in range(2):
                for i, history in enumerate(histories):
                    message, cached, new = talk.ask(history)
                    if reuse and turn > 0:
                        self.assertEqual(cached, ends[i])
                        self.assertLess(new, 40)
                    ends[i] = talk.end
                    history += [message, user(f"What is {turn} + {i}?")]
            if reuse:
                self.assertGreaterEqual(talk.server.metric("cache_hits_total"), 2)
                self.assertGreater(talk.server.metric("cache_checkpoints"), 3)
                self.assertGreater(talk.server.metric("cache_checkpoint_bytes"), 1e6)

        self.both(script)

    def test_one_system_text(self):
        def script(talk, reuse):
            talk.ask([system("Be brief."), user("Who are you?")])
            # Long enough for the ring to have left the system text behind.
            question = user("What is 4 + 5? " + LONG[:3200])
            message, first, new = talk.ask([system(LONG), question])
            prompt = first + new
            # Its reasoning is left out when the conversation goes on: from the end of the prompt.
            history = [system(LONG), question,
                       {"role": "assistant", "content": message["content"] or "9"},
                       user("And 5 + 6?")]
            _, cached, new = talk.ask(history)
            if reuse:
                self.assertGreaterEqual(cached, prompt)
            _, cached, new = talk.ask([system(LONG), user("Who are you?")])
            if reuse:
                self.assertGreater(cached, 1100)
                self.assertLess(new, 20)

        self.both(script, "--cache-type-k", "q8_0", "--cache-type-v", "q8_0")

    def test_again_and_edited(self):
        with serving(*FLAGS) as server:
            talk = Talk(server)
            history = [system(LONG), user("What is the weather in Oslo?")]
            prompts = []
            for turn in range(2):
                message, _, new = talk.ask(history)
                prompts.append(talk.end)
                history += [message, user(f"The number is {turn}. " + LONG[:1300])]
            # The last answer again: all of its prompt but the last token is there.
            _, cached, new = talk.ask(history[:-2])
            self.assertEqual(new, 1)
            self.assertEqual(talk.answers[2], talk.answers[1])
            # The second question is another, the first one and its answer serve.
            edited = [dict(message) for message in history[:-2]]
            edited[3]["content"] = "No matter. " + edited[3]["content"]
            _, cached, new = talk.ask(edited)
            self.assertGreaterEqual(cached, prompts[0] - 60)
            self.assertLess(cached, prompts[0] + 60)
            # And the conversation as it was goes on from where it was, but for an answer that was
            # cut off by its limit and reads otherwise in full.
            message, cached, new = talk.ask(history)
            self.assertGreaterEqual(cached, prompts[1] - 24)

    def test_calls_come_back_as_they_were_sampled(self):
        def script(talk, reuse):
            history = [user("What is the weather in Oslo?")]
            message, _, _ = talk.ask(history, max_tokens=200)
            end, call = talk.end, message["tool_calls"][0]
            # As a client sends it back: other spaces, nothing beside the call.
            call["function"]["arguments"] = json.dumps(json.loads(call["function"]["arguments"]),
                                                       indent=3)
            history += [{"role": "assistant", "content": None, "tool_calls": [call]},
                        {"role": "tool", "tool_call_id": call["id"], "content": "12 degrees"}]
            _, cached, _ = talk.ask(history)
            if reuse:
                self.assertEqual(cached, end)
            # Another call than the one that was made is what the client says it is.
            edited = json.loads(json.dumps(history))
            arguments = {"city": "Rome"}
            edited[1]["tool_calls"][0]["function"]["arguments"] = json.dumps(arguments)
            _, cached, _ = talk.ask(edited)
            if reuse:
                self.assertLess(cached, end)

        self.both(script)

    def test_choices_share_their_prompt(self):
        with serving("-np", "3", "--checkpoints", "12") as server:
            answer = server.ask(CHAT, {"messages": [user(LONG)], "n": 3, "max_tokens": 8})
            usage = answer["usage"]
            self.assertEqual(usage["prompt_tokens_details"]["cached_tokens"], 0)
            # Two more go on from the end of the prompt; its last token is theirs, for its logits.
            self.assertEqual(server.metric("prefill_rows_total"), usage["prompt_tokens"] + 2)

    def test_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.jsonl")
            # A pool of 512 tokens and a page, in which two conversations do not fit.
            with serving("-np", "1", "-c", "512", "--cache-size", "512", "--checkpoints", "1",
                         "--trace-file", path) as server:
                for i, text in enumerate(("one " * 80 + "two three six",
                                          "one " * 80 + "two four six",
                                          "zwei " * 150, "one " * 80 + "two three six")):
                    server.ask("/v1/completions", {"prompt": text, "max_tokens": 2},
                               {"X-Request-Id": f"r{i}"})
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
        self.assertEqual([line["request"] for line in lines], ["r0", "r1", "r2", "r3"])
        self.assertIn("nothing", lines[0]["why"])
        self.assertEqual(lines[1]["kept"], lines[1]["common"])
        self.assertEqual(lines[1]["why"], "another text follows there")
        self.assertTrue(lines[1]["before"].endswith("two"), lines[1])
        self.assertIn("four", lines[1]["here"])
        self.assertIn("three", lines[1]["there"])
        self.assertIn("given up", lines[3]["why"])
        self.assertGreater(lines[3]["forgotten"], 80)

    def test_keys_share_only_when_told_to(self):
        for flags in ((), ("--share-cache",)):
            with serving("--api-key", "a", "--api-key", "b", *FLAGS, *flags) as server:
                body = {"messages": [user("one two three " * 60)], "max_tokens": 4}
                # A prompt whose log-probabilities are asked for goes on from nothing, and stays
                # with nobody.
                scored = {"prompt": "four five " * 60, "echo": True, "logprobs": 1, "max_tokens": 1}
                for key in ("a", "b", "a"):
                    server.ask("/v1/completions", scored, {"x-api-key": key})
                plain = {"prompt": "four five " * 60, "max_tokens": 1}
                for key in ("a", "b"):
                    usage = server.ask("/v1/completions", plain, {"x-api-key": key})["usage"]
                    known = usage["prompt_tokens_details"]["cached_tokens"] > 100
                    self.assertEqual(known, bool(flags) and key == "b")
                for key in ("a", "b"):
                    usage = server.ask(CHAT, body, {"x-api-key": key})["usage"]
                cached = usage["prompt_tokens_details"]["cached_tokens"]
                self.assertEqual(cached > 100, bool(flags))


if __name__ == "__main__":
    unittest.main()
