# SPDX-License-Identifier: Apache-2.0
"""test_sequences.py: many conversations at once: each as if it were alone, none read twice, none
kept for a client that has left."""
import json
import os
import socket
import threading
import time
import unittest

from serving import ROOT, SLOWER, join_deltas, join_message, serving

CHAT = "/v1/chat/completions"
WEATHER = json.load(open(os.path.join(ROOT, "tools/demo/weather.json"), encoding="utf-8"))
CITIES = ["Oslo", "Rome", "Paris", "Lima", "Cairo", "Berlin"]


def user(text):
    return {"role": "user", "content": text}


def body_of(i, **fields):
    """The i-th of many different requests."""
    if i % 3 == 0:
        fields = {"tools": WEATHER, **fields}
        text = f"What is the weather in {CITIES[i % len(CITIES)]}?"
    else:
        text = f"What is {10 + i} + {7 * i}?"
    return {"messages": [user(text)], "temperature": 0, "max_tokens": 120, **fields}


def plain(joined):
    message, finish, usage = joined
    calls = [{**call, "id": ""} for call in message["tool_calls"]]
    return {**message, "tool_calls": calls}, finish, usage["completion_tokens"]


def in_threads(work, n):
    """work(i) for each i at the same time; the first failure is raised again."""
    failures = []

    def run(i):
        try:
            work(i)
        except BaseException as failure:  # pylint: disable=broad-exception-caught
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def wait_idle(test, server, seconds=30):
    end = time.time() + seconds
    while server.metric("requests_running") + server.metric("requests_waiting"):
        test.assertLess(time.time(), end, "work goes on for a client that has left")
        time.sleep(0.02)


class ManyAtOnce(unittest.TestCase):
    def test_streams_equal_solo_runs(self):
        n = 24 if SLOWER == 1 else 6
        with serving("-np", "6", "--queue", "100") as server:
            solo = [plain(join_message(server.ask(CHAT, body_of(i)))) for i in range(n)]

            def check(i):
                body = body_of(i, stream=True, stream_options={"include_usage": True})
                joined = plain(join_deltas(server.stream(CHAT, body)))
                self.assertEqual(joined, solo[i])

            in_threads(check, n)
            wait_idle(self, server)
            self.assertEqual(server.metric("requests_failed_total"), 0)

    def test_small_cache_gives_way(self):
        # Four sequences of about 250 tokens in a cache that holds 512 (2 pages and one of slack for
        # each but the first): some must wait or be evaluated again, none may fail or differ.
        flags = ("-np", "4", "-c", "512", "--cache-size", "512")
        fields = {"max_tokens": 200, "ignore_eos": True, "logprobs": True,
                  "messages": [user("a b c " * 60)]}
        with serving(*flags) as server:
            asked = [{**fields, "temperature": 1.5, "seed": i} for i in range(4)]
            solo = [server.ask(CHAT, body)["choices"] for body in asked]

            def check(i):
                answer = server.ask(CHAT, asked[i])["choices"]
                self.assertEqual(answer[0]["message"]["content"], solo[i][0]["message"]["content"])
                self.assertEqual(answer[0]["logprobs"], solo[i][0]["logprobs"])

            in_threads(check, 4)
            self.assertEqual(server.metric("requests_failed_total"), 0)

    def test_long_prompt_does_not_hold_up_others(self):
        with serving("-np", "2") as server:
            events = server.stream(CHAT, body_of(1, max_tokens=400, ignore_eos=True, stream=True))
            for _ in range(3):
                next(events)
            before = server.metric("decode_steps_total")
            n = 6000 if SLOWER == 1 else 1100
            long = {"messages": [user("word " * n)], "max_tokens": 1}
            server.ask(CHAT, long)
            steps = server.metric("decode_steps_total") - before
            chunks = n // 512
            self.assertGreaterEqual(steps, chunks)  # a token after every chunk
            list(events)


class Reuse(unittest.TestCase):
    def conversation(self, server, turns, reuse):
        """Plays it; with reuse, each turn must find all of the turns before. Returns answers."""
        history, answers = [], []
        held = 0
        for turn in range(turns):
            city = CITIES[turn % len(CITIES)]
            history.append(user(f"What is the weather in {city}?" if turn % 2 == 0
                                else f"What is {turn} + 38?"))
            for _ in range(2):  # a call and what follows its result
                answer = server.ask(CHAT, {"messages": history, "tools": WEATHER, "temperature": 0,
                                           "max_tokens": 200, "logprobs": True})
                message, finish, usage = join_message(answer)
                cached = usage["prompt_tokens_details"]["cached_tokens"]
                new = usage["prompt_tokens"] - cached
                if reuse:
                    # All that was held but the end of turn, which was drawn and never evaluated.
                    self.assertEqual(cached, held)
                    self.assertEqual(server.metric("prefill_rows_total"), self.rows + new)
                    self.rows += new
                else:
                    self.assertEqual(cached, 0)
                held = usage["prompt_tokens"] + usage["completion_tokens"] - 1
                said = dict(answer["choices"][0]["message"])
                history.append(said)
                answers.append((plain((message, finish, usage)), answer["choices"][0]["logprobs"]))
                if finish != "tool_calls":
                    break
                for call in message["tool_calls"]:
                    history.append({"role": "tool", "tool_call_id": call["id"],
                                    "content": "12 degrees and rain"})
        return answers

    def test_twelve_turns(self):
        flags = ("--current-date", "2026-11-30")
        turns = 12 if SLOWER == 1 else 2
        with serving("-np", "2", *flags) as server:
            self.rows = 0
            warm = self.conversation(server, turns, reuse=True)
        with serving("-np", "2", "--no-reuse", *flags) as server:
            cold = self.conversation(server, turns, reuse=False)
        self.assertEqual(warm, cold)

    def test_two_conversations_keep_their_places(self):
        with serving("-np", "2") as server:
            a, b = [user("one " * 80 + "What is 1 + 2?")], [user("two " * 80 + "Who are you?")]
            for turn in range(3):
                for history in (a, b):
                    answer = server.chat(history)
                    cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
                    if turn > 0:
                        self.assertGreater(cached, 100 + 40 * turn)
                    history.append(answer["choices"][0]["message"])
                    history.append(user(f"What is {turn} + 5?"))

    def test_keys_share_nothing(self):
        with serving("--api-key", "a", "--api-key", "b") as server:
            cached = []
            for key in ("a", "b", "b"):
                answer = server.ask(CHAT, body_of(1), {"x-api-key": key})
                cached.append(answer["usage"]["prompt_tokens_details"]["cached_tokens"])
            self.assertEqual(cached[:2], [0, 0])
            self.assertGreater(cached[2], 50)


class Leaving(unittest.TestCase):
    def leave(self, server, body, after):
        """Sends a request, reads `after` bytes at least, and closes."""
        connection = server.raw()
        data = json.dumps(body).encode()
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(data) + data)
        while after > 0:
            after -= len(connection.recv(min(after, 4096)))
        return connection

    def test_every_phase(self):
        endless = body_of(1, max_tokens=7000, ignore_eos=True)
        long = {**endless, "messages": [user("word " * 7000)]}
        with serving("-np", "1") as server:
            for body, after, phase in ((endless, 0, "decode"),
                                       ({**endless, "stream": True}, 2000, "decode"),
                                       (long, 0, "prefill"),
                                       ({**long, "stream": True}, 100, "prefill")):
                name = 'requests_cancelled_total{phase="' + phase + '"}'
                count = server.metric(name)
                rows = server.metric("prefill_rows_total")
                connection = self.leave(server, body, after)
                began = time.time()
                while server.metric("prefill_rows_total") == rows and time.time() < began + 60:
                    time.sleep(0.005)
                connection.close()
                wait_idle(self, server)
                total = sum(server.metric(f'requests_cancelled_total{{phase="{p}"}}')
                            for p in ("queue", "prefill", "decode"))
                self.assertGreaterEqual(total, 1)
                if phase == "decode":
                    self.assertEqual(server.metric(name), count + 1)
            # One that is running, one that waits: the one that waits leaves.
            running = self.leave(server, {**endless, "stream": True}, 500)
            waiting = self.leave(server, endless, 0)
            while server.metric("requests_waiting") != 1:
                time.sleep(0.01)
            waiting.close()
            end = time.time() + 30  # it counts as gone before the engine has let go of it
            while server.metric('requests_cancelled_total{phase="queue"}') != 1:
                self.assertLess(time.time(), end)
                time.sleep(0.01)
            self.assertEqual(server.metric("requests_waiting"), 0)
            self.assertEqual(server.metric("requests_running"), 1)
            running.close()
            wait_idle(self, server)
            self.assertIn("85", server.chat("What is 47 + 38?")["choices"][0]["message"]["content"])

    def test_slow_reader_holds_up_nobody(self):
        with serving("-np", "4") as server:
            slow = socket.socket()
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            slow.connect(("127.0.0.1", server.port))
            body = json.dumps(body_of(1, max_tokens=400, ignore_eos=True, stream=True)).encode()
            slow.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                         b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            solo = plain(join_message(server.ask(CHAT, body_of(2))))
            self.assertEqual(plain(join_message(server.ask(CHAT, body_of(2)))), solo)
            wait_idle(self, server, 120)  # the generation is over though nobody has read it
            data = b""
            while block := slow.recv(65536):
                data += block
            self.assertIn(b"data: [DONE]", data)
            slow.close()


if __name__ == "__main__":
    unittest.main()
