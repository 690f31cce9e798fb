# SPDX-License-Identifier: Apache-2.0
"""test_log.py: --log-format json: every line an object, whatever clients send."""
import datetime
import json
import os
import shutil
import subprocess
import tempfile
import threading

from serving import DEMO, PROGRAM, SLOWER, Server


def check_line(line):
    assert line.endswith("\n") and "\x7f" not in line, line
    said = json.loads(line)
    assert set(said) >= {"time", "level", "event"}, said
    when = datetime.datetime.strptime(said["time"], "%Y-%m-%dT%H:%M:%S.%fZ")
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    assert abs((now - when).total_seconds()) < 600 * SLOWER, said
    assert said["level"] in ("error", "warning", "info", "debug")
    return said


def send(server, path, request_id):
    with server.raw() as raw:
        raw.sendall(b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nx-request-id: " +
                    request_id + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        while raw.recv(4096):
            pass


def ask_and_leave(server):
    body = json.dumps({"prompt": "Count", "max_tokens": 100000, "ignore_eos": True,
                       "stream": True}).encode()
    raw = server.raw()
    raw.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nx-request-id: leaver\r\n"
                b"Authorization: Bearer two\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    got = b""
    while b"data: " not in got:
        got += raw.recv(4096)
    raw.close()
    server.wait_for_line("leaver")


def main():
    with tempfile.TemporaryDirectory() as folder:
        # A name that would break a line that is not escaped.
        alias = 'a "quoted"\\ name\n\u00e9\x01'
        server = Server("--log-format", "json", "--alias", alias, "--api-key", "one",
                        "--api-key", "two", wait=False)
        server.read_until(r'"event":"ready".*"url":"http://127.0.0.1:(\d+)"')
        server.reader = threading.Thread(target=server.read_rest, daemon=True)
        server.reader.start()
        key = {"Authorization": "Bearer two"}
        server.ask("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello"}],
                                            "max_tokens": 5, "temperature": 0},
                   {**key, "x-request-id": "asked"})
        send(server, b"/none\xff\"\\?secret=1", b"back\\slash'")
        send(server, b"/none%0a%22%7b", b"two\"quotes")
        ask_and_leave(server)
        server.send("GET", "/v1/models", headers=key)
        status, _ = server.stop()
        assert status == 0
        lines = [check_line(line) for line in server.lines]
        by_event = {}
        for line in lines:
            by_event.setdefault(line["event"], []).append(line)
        [ready] = by_event["ready"]
        assert ready["model"] == alias and ready["sequences"] == 4 and ready["context"] > 0
        assert ready["memory_bytes"] >= ready["weight_bytes"] + ready["cache_bytes"] > 0
        assert [len(by_event[name]) for name in ("stopping", "stopped")] == [1, 1]
        assert lines[-1]["event"] == "stopped"
        # A line comes when the client may have the answer already: the order is not told.
        requests = {line["id"]: line for line in by_event["request"]}
        asked, odd, left = (requests.pop(name) for name in ("asked", "back\\slash'", "leaver"))
        [broken] = requests.values()
        assert asked["id"] == "asked" and asked["status"] == 200
        assert asked["method"] == "POST"
        assert asked["path"] == "/v1/chat/completions" and asked["key"] == 2
        assert asked["prompt_tokens"] > 5 and asked["generated_tokens"] == 5
        assert asked["cached_tokens"] == 0 and asked["finish"] == "length", asked
        parts = asked["queue_ms"] + asked["prefill_ms"] + asked["decode_ms"]
        assert 0 < parts <= asked["duration_ms"] + 1, asked
        assert odd["id"] == "back\\slash'" and odd["path"] == '/none%FF"\\', odd
        assert odd["status"] == broken["status"] == 401 and odd["key"] == 0
        assert broken["path"] == '/none%0A"{' and broken["id"].startswith("req_"), broken
        assert left["id"] == "leaver" and left["finish"] == "client_left", left
        text = "".join(server.lines)
        assert "secret" not in text and "Hello" not in text

        # What ends the start is a line of the same form, with a file's name that needs escaping.
        model = shutil.copy(DEMO, os.path.join(folder, 'm"\n.gguf'))
        with open(model, "r+b") as file:
            file.write(b"FUGG")
        done = subprocess.run([PROGRAM, "serve", "-m", model, "--port", "0", "--no-store",
                               "--log-format", "json"], stderr=subprocess.PIPE, text=True,
                              timeout=60 * SLOWER)
        said = [check_line(line) for line in done.stderr.splitlines(True)]
        assert done.returncode == 1 and said[-1]["level"] == "error"
        assert model in said[-1]["message"], said
        done = subprocess.run([PROGRAM, "serve", "--log-format", "xml"], stderr=subprocess.PIPE,
                              text=True)
        assert done.returncode == 2 and 'found "xml", expected text or json' in done.stderr


if __name__ == "__main__":
    main()
