# SPDX-License-Identifier: Apache-2.0
"""test_http.py: HTTP as clients and attackers speak it: limits, keys, bad requests, the end."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

from serving import DEMO, PROGRAM, Server, serving

CHAT = "/v1/chat/completions"
BODY = {"messages": [{"role": "user", "content": "Who are you?"}], "temperature": 0,
        "max_tokens": 3}


def read_all(connection):
    data = b""
    while True:
        try:
            block = connection.recv(65536)
        except ConnectionResetError:
            return data
        if not block:
            return data
        data += block


def post(body, *headers):
    lines = ["POST " + CHAT + " HTTP/1.1", "Host: localhost", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


class Http(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--max-body", "1")

    @classmethod
    def tearDownClass(cls):
        status, said = cls.server.stop()
        assert status == 0, said

    def talk(self, data):
        """Sends bytes, says that there are no more after a moment, reads to the end."""
        with self.server.raw() as connection:
            connection.sendall(data)
            connection.settimeout(60)
            return read_all(connection)

    def still_works(self):
        answer = self.server.ask(CHAT, BODY)
        self.assertEqual(answer["usage"]["completion_tokens"], 3)

    def test_chat_page(self):
        status, headers, page = self.server.send("GET", "/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        policy = headers["Content-Security-Policy"]
        self.assertIn("default-src 'none'; script-src 'self';", policy)
        self.assertNotIn("unsafe", policy)
        parts = re.findall(r'(?:src|href)="([^"#]+)"', page.decode())
        self.assertIn("page/main.js", parts)
        for part in parts:
            status, headers, data = self.server.send("GET", "/" + part)
            self.assertEqual((status, int(headers["Content-Length"])), (200, len(data)), part)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            tag = {"If-None-Match": 'W/"x", ' + headers["ETag"]}
            status, again, data = self.server.send("GET", "/" + part, headers=tag)
            self.assertEqual((status, again["ETag"], data), (304, headers["ETag"], b""))
        self.assertEqual(self.server.send("HEAD", "/")[::2], (200, b""))
        for path in ("/page/", "/page/none.js", "/page/../page.html", "/page/main.js/x"):
            self.assertEqual(self.server.send("GET", path)[0], 404, path)
        self.assertEqual(self.server.send("POST", "/", b"{}")[0], 405)

    def test_no_chat_page(self):
        with serving("--no-ui", "--api-key", "k") as server:
            for path in ("/", "/page/main.js", "/favicon.ico"):
                self.assertEqual(server.send("GET", path)[0], 404, path)
        with serving("--api-key", "k") as server:
            self.assertEqual(server.send("GET", "/page/main.js")[0], 200)
            self.assertEqual(server.send("GET", "/props")[0], 401)

    def test_bad_json(self):
        deep = b'{"messages":' + b"[" * 5000 + b"]" * 5000 + b"}"
        for body in (b"", b"{", b"[]", b"null", b'{"messages": NaN}', deep, b"\xff\xfe",
                     b'{"messages": "\xc3\x28"}', b'{"messages": [{"role": "user"', b'{} {}',
                     b'{"a": 1,}', b'{"messages": [1e999999]}', b'{"messages": [[]]}'):
            status, headers, data = self.server.send("POST", CHAT, body)
            self.assertEqual(status, 400, body[:40])
            self.assertEqual(headers["Content-Type"], "application/json")
            self.assertEqual(json.loads(data)["error"]["type"], "invalid_request_error")
        self.still_works()

    def test_duplicate_keys(self):
        body = json.dumps(BODY)[:-1] + ', "max_tokens": 2}'  # the last one counts
        status, _, data = self.server.send("POST", CHAT, body)
        self.assertEqual((status, json.loads(data)["usage"]["completion_tokens"]), (200, 2))

    def test_lone_surrogate(self):
        body = json.dumps({**BODY, "messages": [{"role": "user", "content": "X"}]})
        status, _, data = self.server.send("POST", CHAT, body.replace("X", "\\ud800"))
        self.assertEqual(status, 200, data)

    def test_too_large(self):
        status, _, data = self.server.send("POST", CHAT, b"x" * (3 << 20))
        self.assertEqual(status, 413)
        self.assertIn("1048576", json.loads(data)["error"]["message"])
        answer = self.talk(post(b"", "Expect: 100-continue", "Content-Length: 3000000",
                                "Connection: close"))  # no body is asked for
        self.assertIn(b" 413 ", answer.split(b"\r\n")[0])
        chunk = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
        answer = self.talk(post(chunk * 2 + b"0\r\n\r\n", "Transfer-Encoding: chunked",
                                "Connection: close"))
        self.assertIn(b" 413 ", answer.split(b"\r\n")[0])
        self.still_works()

    def test_large_enough(self):
        body = {**BODY, "messages": [{"role": "user", "content": "a " * 3000}], "pad": "x" * 900000}
        self.assertEqual(self.server.ask(CHAT, body)["usage"]["completion_tokens"], 3)

    def test_expect_continue(self):
        body = json.dumps(BODY).encode()
        with self.server.raw() as connection:
            connection.sendall(post(b"", "Expect: 100-continue", f"Content-Length: {len(body)}"))
            self.assertTrue(connection.recv(1000).startswith(b"HTTP/1.1 100 "))
            connection.sendall(body)
            self.assertTrue(connection.recv(1000).startswith(b"HTTP/1.1 200 "))

    def test_chunked_and_cut(self):
        body = json.dumps(BODY).encode()
        pieces = b"".join(b"%x\r\n%s\r\n" % (1, body[i:i + 1]) for i in range(len(body)))
        answer = self.talk(post(pieces + b"0\r\n\r\n", "Transfer-Encoding: chunked",
                                "Connection: close"))
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer[:200])
        for cut in (post(body[:20], f"Content-Length: {len(body)}"),
                    post(pieces[:50], "Transfer-Encoding: chunked"), b"POST /v1/ch",
                    b"\0\1\2\3\r\n\r\n",
                    post(b"zz\r\n", "Transfer-Encoding: chunked", "Connection: close")):
            with self.server.raw() as connection:
                connection.sendall(cut)
        self.still_works()

    def test_ends_with_the_last_bytes(self):
        """A client that sends a part of a request and ends at once does not stay."""
        folder = f"/proc/{self.server.process.pid}/fd"
        before = len(os.listdir(folder))
        for part in (post(b"", "Content-Length: 500") + b"{", b"POST /v1/chat/completions HTTP/1.1",
                     post(b"100\r\n{", "Transfer-Encoding: chunked")):
            for _ in range(20):
                with self.server.raw() as connection:
                    connection.sendall(part)
        end = time.time() + 20
        while len(os.listdir(folder)) > before:
            self.assertLess(time.time(), end, "connections stay open")
            time.sleep(0.05)

    def test_log_of_strange_paths(self):
        """One plain line a request, whatever its path."""
        self.assertEqual(self.server.send("GET", "/a%0A%1B[2J%FF")[0], 404)
        self.server.wait_for_line(r"\nreq_\w+ /a%0A%1B\[2J%FF 404 [\d.]+ ms\n")

    def test_both_lengths(self):
        body = json.dumps(BODY).encode()
        answer = self.talk(post(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
                                f"Content-Length: {len(body)}", "Transfer-Encoding: chunked",
                                "Connection: close"))
        self.assertIn(b" 400 ", answer.split(b"\r\n")[0])

    def test_bad_heads(self):
        # Most faults of the head itself are answered by the HTTP library, as HTML.
        for head in (b"GET / HTTP/9.9\r\n\r\n", b"GET\r\n\r\n",
                     b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 200000 +
                     b"\r\n\r\n",
                     b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\n\r\n",
                     post(b"{}", "Content-Length: -1", "Connection: close"),
                     post(b"{}", "Content-Length: 99999999999999999999", "Connection: close"),
                     b"GET /health HTTP/1.1\r\n\r\n",
                     b"GET /%00%00/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n"
                     b"Connection: close\r\n\r\n"):
            answer = self.talk(head)
            self.assertNotIn(b" 200 ", answer.split(b"\r\n")[0], head[:40])
        self.still_works()

    def test_large_heads(self):
        for head in (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 60000,
                     b"GET /health?" + b"a" * 60000 + b" HTTP/1.1\r\nHost: localhost"):
            answer = self.talk(head + b"\r\nConnection: close\r\n\r\n")
            self.assertIn(b" 431 ", answer.split(b"\r\n")[0])
            self.assertIn("at most 49152", json.loads(answer.split(b"\r\n\r\n")[1])["error"]
                          ["message"])
        self.assertEqual(self.server.send("GET", "/health", headers={"X": "y" * 40000})[0], 200)

    def test_pipelining(self):
        body = json.dumps(BODY).encode()
        one = post(body, f"Content-Length: {len(body)}")
        last = post(body, f"Content-Length: {len(body)}", "Connection: close")
        answer = self.talk(one + one + last)
        self.assertEqual(answer.count(b"HTTP/1.1 200 "), 3)
        self.assertEqual(answer.count(b'"finish_reason":"length"'), 3)

    def test_keep_alive(self):
        connection = self.server.connect()
        for _ in range(20):
            connection.request("GET", "/health")
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read()), (200, b'{"status":"ok"}'))
            connection.request("POST", "/nope", b"x" * 1000)
            answer = connection.getresponse()
            self.assertEqual(answer.status, 404)
            answer.read()
        connection.close()

    def test_paths_and_methods(self):
        for path in ("/health", "/v1/health", "/health/", "/health?verbose=1"):
            self.assertEqual(self.server.send("GET", path)[0], 200, path)
        status, headers, data = self.server.send("DELETE", CHAT)
        self.assertEqual((status, headers["Allow"]), (405, "POST"))
        self.assertIn("error", json.loads(data))
        self.assertEqual(self.server.send("HEAD", "/health")[0], 200)
        status, headers, _ = self.server.send("GET", "/health", headers={"x-request-id": "mine-1"})
        self.assertEqual(headers["x-request-id"], "mine-1")

    def test_foreign_host(self):
        for host in ("evil.example", "evil.example:80", "localhost.evil.example",
                     "127.evil.example", "1.2.3.4", "[::2]:80", ""):
            status, _, data = self.server.send("GET", "/v1/models", headers={"Host": host})
            self.assertEqual(status, 403, host)
            self.assertEqual(json.loads(data)["error"]["type"], "permission_error")
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:8080", "my.localhost"):
            self.assertEqual(self.server.send("GET", "/v1/models", headers={"Host": host})[0], 200)

    def test_loopback_by_another_name(self):
        """Not the name but the address tells who can connect."""
        with serving("--host", "0x7f.1", "--cache-size", "1") as server:
            for host, status in (("0x7f.1", 200), ("localhost", 200), ("evil.example", 403)):
                self.assertEqual(server.send("GET", "/v1/models", headers={"Host": host})[0],
                                 status, host)
            self.assertIn("--cache-size raised from 1 to 8192 tokens", "".join(server.lines))

    def test_slow_head_holds_up_nobody(self):
        with self.server.raw() as slow:
            for byte in b"POST /v1/chat/completions HTTP/1.1\r\nHost: lo":
                slow.sendall(bytes([byte]))
                time.sleep(0.005)
            self.still_works()

    def test_metrics(self):
        self.still_works()
        text = self.server.send("GET", "/metrics")[2].decode()
        names = set()
        for line in text.splitlines():
            if line.startswith("# TYPE"):
                names.add(line.split()[2])
            elif not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                float(value)
                base = name.split("{")[0]
                self.assertTrue(any(base in (n, n + "_bucket", n + "_sum", n + "_count")
                                    for n in names), line)
        self.assertGreater(self.server.metric("generated_tokens_total"), 0)


class Keys(unittest.TestCase):
    def test_keys(self):
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as file:
            file.write("# people\nfirst-key\n\nsecond-key\n")
            file.flush()
            with serving("--api-key-file", file.name, env={"GLINT_API_KEY": "third-key"}) as server:
                for header in ({"Authorization": "Bearer first-key"}, {"x-api-key": "second-key"},
                               {"api-key": "third-key"}, {"Authorization": "bearer   first-key"}):
                    self.assertEqual(server.send("GET", "/v1/models", headers=header)[0], 200)
                for header in ({}, {"Authorization": "Bearer "}, {"Authorization": "Basic Zm9v"},
                               {"Authorization": "Bearer first-ke"}, {"x-api-key": ""},
                               {"Authorization": "Bearer first-keyy"},
                               {"Authorization": "first-key"}, {"x-api-key": "# people"}):
                    for path in ("/v1/models", "/metrics", "/props", "/nope"):
                        status, headers, data = server.send("GET", path, headers=header)
                        self.assertEqual(status, 401, (header, path))
                        self.assertEqual(headers["WWW-Authenticate"], "Bearer")
                        self.assertEqual(json.loads(data)["error"]["code"], "invalid_api_key")
                self.assertEqual(server.send("GET", "/health")[0], 200)

    def test_cors(self):
        with serving("--cors-origin", "https://page.example") as server:
            status, headers, _ = server.send("OPTIONS", CHAT, headers={
                "Origin": "https://page.example", "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "x-stainless-os, authorization"})
            self.assertEqual(status, 204)
            self.assertEqual(headers["Access-Control-Allow-Origin"], "https://page.example")
            self.assertEqual(headers["Access-Control-Allow-Headers"],
                             "x-stainless-os, authorization")
            self.assertEqual(server.send("GET", "/health")[1]["Access-Control-Allow-Origin"],
                             "https://page.example")


class Life(unittest.TestCase):
    def test_loading_then_failing(self):
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
            file.write(b"GGUF and nonsense")
            file.flush()
            server = Server(model=file.name, wait=False)
            status, said = server.stop(0)
            self.assertEqual(status, 1)
            self.assertIn(file.name, said)

    def test_usage(self):
        for flags in (["--port", "99999"], ["--api-key", ""], ["--no-such"], ["extra"],
                      ["-np", "0"], ["--api-key-file", os.devnull]):
            run = subprocess.run([PROGRAM, "serve", "-m", DEMO, *flags], capture_output=True,
                                 text=True, check=False, timeout=60)
            self.assertEqual(run.returncode, 2, run.stderr)

    def test_port_taken(self):
        with serving() as server:
            run = subprocess.run([PROGRAM, "serve", "-m", DEMO, "--port", str(server.port)],
                                 capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual(run.returncode, 1)
            self.assertIn("another --port", run.stderr)

    def test_unix_socket(self):
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "glint.sock")
        server = Server("--host", path, wait=False)
        server.read_until("is ready at unix:")
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertIn(b" 200 ", read_all(connection).split(b"\r\n")[0])
        self.assertEqual(server.stop()[0], 0)
        self.assertFalse(os.path.exists(path))
        os.rmdir(folder)

    def test_few_files(self):
        """The limit on files is raised to what may be had; then fewer connections are taken."""
        few = ["bash", "-c", 'ulimit -S%sn 200; exec "$@"', "bash", PROGRAM]
        for hard in ("", "H"):
            with serving(command=[few[0], few[1], few[2] % hard, *few[3:]]) as server:
                with open(f"/proc/{server.process.pid}/limits", encoding="ascii") as file:
                    files = int(re.search(r"Max open files +(\d+)", file.read()).group(1))
                self.assertEqual(files == 200, bool(hard))
                self.assertEqual("at most 72 connections" in "".join(server.lines), bool(hard))
                several = [server.raw() for _ in range(150)]  # more than are taken
                for connection in several:
                    connection.close()
                self.assertEqual(server.ask(CHAT, BODY)["usage"]["completion_tokens"], 3)

    def test_graceful_stop(self):
        server = Server()
        body = {**BODY, "max_tokens": 150, "ignore_eos": True, "stream": True}
        events = server.stream(CHAT, body)
        for _ in range(5):
            next(events)
        server.process.send_signal(signal.SIGTERM)
        status = 200
        while status == 200:  # soon
            status, _, answer = server.send("GET", "/v1/models")
        self.assertEqual(status, 503)
        self.assertIn("stopping", str(answer))
        rest = list(events)
        self.assertEqual(rest[-1], "[DONE]")
        self.assertEqual(rest[-2]["choices"][0]["finish_reason"], "length")
        self.assertEqual(server.stop(0)[0], 0)

    def test_second_signal(self):
        for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)):
            server = Server()
            body = {**BODY, "max_tokens": 100000, "ignore_eos": True, "stream": True}
            events = server.stream(CHAT, body)
            next(events)
            server.process.send_signal(first)
            time.sleep(0.3)
            began = time.time()
            self.assertNotEqual(server.stop(second)[0], 0)
            self.assertLess(time.time() - began, 5)

    def test_full_queue(self):
        with serving("-np", "1", "--queue", "1") as server:
            body = {**BODY, "max_tokens": 60, "ignore_eos": True}
            results = []

            def ask():
                status, headers, data = server.send("POST", CHAT, body)
                results.append((status, headers.get("Retry-After"), json.loads(data)))

            threads = [threading.Thread(target=ask) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            refused = [r for r in results if r[0] == 429]
            self.assertTrue(refused)
            self.assertEqual(len(refused) + sum(r[0] == 200 for r in results), 6)
            for _, retry, answer in refused:
                self.assertEqual(retry, "1")
                self.assertEqual(answer["error"]["type"], "rate_limit_error")

    def test_gone_clients_leave_the_queue(self):
        with serving("-np", "1", "--queue", "2") as server:
            text = "word " * 1500  # a step takes longer than the clients
            body = {**BODY, "messages": [{"role": "user", "content": text}], "stream": True}
            for i in range(6):
                connection = server.connect()
                connection.request("POST", CHAT, json.dumps({**body, "user": str(i)}))
                answer = connection.getresponse()
                self.assertEqual(answer.status, 200, i)
                answer.close()
                connection.close()
                time.sleep(0.03)
            self.assertEqual(server.ask(CHAT, BODY)["usage"]["completion_tokens"], 3)

    def test_reset_while_sending(self):
        with serving() as server:
            for _ in range(20):
                connection = server.raw()
                connection.sendall(post(b"{", "Content-Length: 1000"))
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                connection.close()
            self.assertEqual(server.ask(CHAT, BODY)["usage"]["completion_tokens"], 3)


if __name__ == "__main__":
    unittest.main()
