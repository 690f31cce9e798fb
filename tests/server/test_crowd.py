# SPDX-License-Identifier: Apache-2.0
"""test_crowd.py: 64 clients, of which 8 read slowly and 8 leave in the middle, for a minute
(CROWD_SECONDS): nothing is lost or mixed, memory stays flat, what was left is given up.

All ask at once, at the start and in each quarter of the time again. In between each rests for
CROWD_PAUSE seconds on average, so that the minute costs little; CROWD_PAUSE=0 never rests."""
import json
import os
import random
import socket
import threading
import time
import unittest

from serving import SLOWER, join_deltas, join_message, serving, split_events
from test_sequences import CHAT, body_of, plain

SECONDS = float(os.environ.get("CROWD_SECONDS", "60" if SLOWER == 1 else "20"))
PAUSE = float(os.environ.get("CROWD_PAUSE", "8"))
CLIENTS, SLOW, LEAVING = 64, 8, 8


class SlowReader:
    """Lines of a socket, read in small pieces with pauses."""

    def __init__(self, connection):
        self.connection, self.rest = connection, b""

    def __iter__(self):
        while True:
            while b"\n" in self.rest:
                line, self.rest = self.rest.split(b"\n", 1)
                yield line + b"\n"
            block = self.connection.recv(200)
            if not block:
                return
            self.rest += block
            time.sleep(0.01)


class Crowd(unittest.TestCase):
    def open_stream(self, server, body):
        """HTTP/1.0: the answer is not in chunks and ends with the connection."""
        data = json.dumps({**body, "stream": True, "stream_options": {"include_usage": True}})
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.settimeout(300)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(b"POST /v1/chat/completions HTTP/1.0\r\nHost: localhost\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(data) + data.encode())
        return connection

    def memory(self, server):
        with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def client(self, server, i, solo, done):
        draw = random.Random(i)
        begin = time.time()
        while time.time() < begin + SECONDS:
            which = draw.randrange(len(solo))
            body = body_of(which, max_tokens=40)
            if i < LEAVING:
                with self.open_stream(server, body) as connection:
                    connection.recv(draw.randrange(1, 3000))
                done["left"] += 1
                time.sleep(0.05 + PAUSE / 16)
            elif i < LEAVING + SLOW:
                with self.open_stream(server, body) as connection:
                    lines = iter(SlowReader(connection))
                    while next(lines) != b"\r\n":
                        pass
                    joined = plain(join_deltas(split_events(lines)))
                self.assertEqual(joined, solo[which])
                done["slow"] += 1
            else:
                stream = {**body, "stream": True, "stream_options": {"include_usage": True}}
                self.assertEqual(plain(join_deltas(server.stream(CHAT, stream))), solo[which])
                done["whole"] += 1
            if PAUSE and i >= LEAVING:
                quarter = SECONDS / 4 - (time.time() - begin) % (SECONDS / 4)
                time.sleep(min(draw.uniform(0, 2 * PAUSE), quarter))

    def test_crowd(self):
        done = {"left": 0, "slow": 0, "whole": 0}
        failures = []
        with serving("-np", "8", "--queue", "400") as server:
            solo = [plain(join_message(server.ask(CHAT, body_of(i, max_tokens=40))))
                    for i in range(16)]
            sizes = []

            def run(i):
                try:
                    self.client(server, i, solo, done)
                except BaseException as failure:  # pylint: disable=broad-exception-caught
                    failures.append(failure)

            threads = [threading.Thread(target=run, args=(i,)) for i in range(CLIENTS)]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                time.sleep(SECONDS / 10)
                sizes.append(self.memory(server))
            if failures:
                raise failures[0]
            end = time.time() + 30
            while server.metric("requests_running") + server.metric("requests_waiting"):
                self.assertLess(time.time(), end, "work goes on for clients that have left")
                time.sleep(0.05)
            self.assertEqual(server.metric("requests_failed_total"), 0)
        for kind, n in done.items():
            self.assertGreater(n, 0, kind)
        print(f"{done}, resident {sizes[3] >> 20} MiB after warm-up, {sizes[-1] >> 20} at the end")
        if SLOWER == 1:  # sanitizers keep what is freed
            self.assertLess(sizes[-1], sizes[3] * 1.1 + (8 << 20))


if __name__ == "__main__":
    unittest.main()
