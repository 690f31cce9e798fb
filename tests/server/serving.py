# SPDX-License-Identifier: Apache-2.0
"""serving.py: starts the built program as a server and talks HTTP to it, for the tests here.

Python's standard library only. GLINT_PROGRAM names the program; CTest sets it.
"""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("GLINT_PROGRAM", os.path.join(ROOT, "build/release/glint"))
DEMO = os.path.join(ROOT, "models/glimmer-mini.gguf")
SLOWER = 10 if "tsan" in PROGRAM or "asan" in PROGRAM else 1
START_SECONDS = STOP_SECONDS = 60 * SLOWER


class Server:
    """A running `glint serve` on a free port."""

    def __init__(self, *flags, model=DEMO, env=None, wait=True, command=(PROGRAM,), tls=None,
                 fds=()):
        kept = [] if "--store" in flags else ["--no-store"]  # nothing among the user's files
        command = [*command, "serve", "-m", model, "--port", "0", "-t", "2", *kept, *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, pass_fds=fds,
                                        env={**os.environ, **(env or {})})
        self.lines = []
        self.port = None
        self.reader = None
        self.tls = tls  # an ssl.SSLContext: the server speaks HTTPS
        if wait:
            self.read_until(rf"is ready at http{'s' if tls else ''}://[^ ]*:(\d+)")
            self.reader = threading.Thread(target=self.read_rest, daemon=True)
            self.reader.start()

    def read_until(self, pattern):
        """Reads what the server says until a line matches; takes the port from it."""
        end = time.time() + START_SECONDS
        while time.time() < end:
            line = self.process.stderr.readline()
            if not line:
                break
            self.lines.append(line)
            found = re.search(pattern, line)
            if found:
                self.port = int(found.group(1)) if found.groups() else self.port
                return found
        raise AssertionError("the server did not start:\n" + "".join(self.lines))

    def read_rest(self):
        """So that the server never waits for a pipe that is full."""
        for line in self.process.stderr:
            self.lines.append(line)

    def wait_for_line(self, pattern):
        """What the server says after it is ready: the first match."""
        end = time.time() + START_SECONDS
        while not (found := re.search(pattern, "".join(list(self.lines)))):
            assert time.time() < end, "".join(self.lines)
            time.sleep(0.01)
        return found

    def stop(self, number=signal.SIGTERM):
        """Ends the server; returns its exit status and what it still said."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        if self.reader:
            self.process.wait(timeout=STOP_SECONDS)
            self.reader.join()
        else:
            self.lines += self.process.communicate(timeout=STOP_SECONDS)[1].splitlines(True)
        return self.process.returncode, "".join(self.lines)

    def connect(self, timeout=120):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout,
                                               context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def raw(self):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        return self.tls.wrap_socket(plain, server_hostname="127.0.0.1") if self.tls else plain

    def send(self, method, path, body=None, headers=None):
        """One request on a connection of its own: (status, headers, bytes)."""
        connection = self.connect()
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.headers, data

    def ask(self, path, body=None, headers=None, expect=200):
        """A request whose answer is JSON."""
        status, _, data = self.send("GET" if body is None else "POST", path, body, headers)
        assert status == expect, f"{path}: status {status}: {data[:500]!r}"
        return json.loads(data)

    def chat(self, messages, **fields):
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        body = {"messages": messages, "temperature": 0, "max_tokens": 300, **fields}
        return self.ask("/v1/chat/completions", body)

    def stream(self, path, body, headers=None):
        """The data of an event stream's events, parsed; [DONE] as the text."""
        connection = self.connect()
        connection.request("POST", path, json.dumps(body), headers or {})
        answer = connection.getresponse()
        assert answer.status == 200, (answer.status, answer.read())
        assert answer.headers["Content-Type"] == "text/event-stream"
        for event in split_events(answer):
            yield event
        connection.close()

    def metric(self, name):
        text = self.send("GET", "/metrics")[2].decode()
        return float(re.search(r"^glint_" + re.escape(name) + r" (\S+)$", text, re.M).group(1))


def split_events(answer):
    block = []
    for line in answer:
        line = line.decode().rstrip("\n")
        if line.startswith("data: "):
            block.append(line[6:])
        if line == "" and block:
            text = "\n".join(block)
            block = []
            yield text if text == "[DONE]" else json.loads(text)
    assert not block, "the stream ended inside an event"


@contextlib.contextmanager
def serving(*flags, **more):
    server = Server(*flags, **more)
    try:
        yield server
    finally:
        status, said = server.stop()
    assert status == 0, f"exit status {status}\n{said}"


def join_deltas(events):
    """An OpenAI chat stream put together: (message, finish_reason, usage)."""
    message = {"role": None, "content": "", "reasoning": "", "tool_calls": []}
    finish = usage = None
    for event in events:
        if event == "[DONE]":
            continue
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            delta = choice["delta"]
            assert choice["finish_reason"] is None or delta == {}
            message["role"] = delta.get("role", message["role"])
            message["content"] += delta.get("content") or ""
            assert delta.get("reasoning") == delta.get("reasoning_content")
            message["reasoning"] += delta.get("reasoning") or ""
            for call in delta.get("tool_calls", []):
                if "id" in call:
                    assert call["index"] == len(message["tool_calls"])
                    message["tool_calls"].append({"id": call["id"],
                                                  "name": call["function"]["name"],
                                                  "arguments": ""})
                target = message["tool_calls"][call["index"]]
                target["arguments"] += call["function"]["arguments"]
            finish = choice["finish_reason"] or finish
    return message, finish, usage


def join_message(answer, index=0):
    """The same of a whole answer."""
    choice = answer["choices"][index]
    said = choice["message"]
    calls = [{"id": call["id"], "name": call["function"]["name"],
              "arguments": call["function"]["arguments"]} for call in said.get("tool_calls", [])]
    message = {"role": said["role"], "content": said["content"] or "",
               "reasoning": said.get("reasoning", ""), "tool_calls": calls}
    return message, choice["finish_reason"], answer["usage"]


class ResponseEvents:
    """A stream of OpenAI's responses put together, every rule of order and every index checked."""

    def __init__(self):
        self.response, self.items, self.part, self.n = None, [], None, 0
        self.is_open = self.over = False

    def take(self, event):
        assert not self.over and event["sequence_number"] == self.n, event
        self.n += 1
        kind = event["type"].removeprefix("response.")
        if "output_index" in event:
            assert event["output_index"] == len(self.items) - (kind != "output_item.added"), event
        if "item_id" in event:
            assert self.is_open and event["item_id"] == self.items[-1]["id"], event
        assert event.get("content_index", 0) == event.get("summary_index", 0) == 0
        if kind in ("created", "in_progress"):
            assert self.n == 1 + (kind == "in_progress")
            self.response = event["response"]
            assert self.response["status"] == "in_progress" and self.response["output"] == []
        elif kind in ("completed", "incomplete", "failed"):
            assert not self.is_open and event["response"]["status"] == kind
            assert event["response"]["id"] == self.response["id"]
            assert event["response"]["output"] == self.items
            self.response, self.over = event["response"], True
        elif kind == "output_item.added":
            assert not self.is_open and event["item"]["status"] == "in_progress"
            self.items.append(event["item"])
            self.is_open, self.part = True, None
        elif kind == "output_item.done":
            assert event["item"]["id"] == self.items[-1]["id"]
            self.check_item(event["item"])
            self.items[-1] = event["item"]
            self.is_open = False
        else:
            self.take_part(kind, event)

    def take_part(self, kind, event):
        item = self.items[-1]
        names = {"reasoning": ("reasoning_text", "reasoning_summary_text"),
                 "message": ("output_text",), "function_call": ("function_call_arguments",)}
        if kind in ("content_part.added", "reasoning_summary_part.added"):
            assert self.part is None and event["part"]["text"] == ""
            assert ("summary" in kind) == (event["part"]["type"] == "summary_text")
            self.part = event["part"]
        elif kind in ("content_part.done", "reasoning_summary_part.done"):
            assert event["part"]["text"] == self.part["text"]
            self.part = event["part"]
        else:
            what, _, end = kind.rpartition(".")
            assert what in names[item["type"]], kind
            if what == "function_call_arguments":
                assert "content_index" not in event
                target, name = item, "arguments"
            else:
                target, name = self.part, "text"
            if end == "delta":
                target[name] += event["delta"]
                if what == "output_text":
                    target["logprobs"] += event["logprobs"]
            else:
                assert end == "done" and event[name] == target[name], event

    def check_item(self, item):
        begun = self.items[-1]
        if item["type"] == "function_call":
            assert item["arguments"] == begun["arguments"] and item["name"] == begun["name"]
        else:
            assert [self.part] == (item.get("summary") or item["content"])


def join_response(events):
    """The response object that a stream adds up to."""
    joined = ResponseEvents()
    for event in events:
        joined.take(event)
    assert joined.over
    return joined.response
