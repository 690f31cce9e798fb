#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_agents.py [NAME...]: real agents (codex, opencode, cline), from npm, against the server.

Each is told to read a file, in a home of its own and without a network where that can be had
(unshare). It must list its tools, run the call it gets, send the result, show the answer and end.

Models that say one given text each (tests/server/script_model.py) stand behind real servers: one
says the call, one the answer. A switch hands a request on, byte by byte, to the second when the
file's content is in it or when it has no tools (opencode asks for a title), else to the first.
Not part of `make test`: the packages take 1.2 GB.
"""
import ctypes
import fcntl
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))
from script_model import write_script  # noqa: E402
from serving import ROOT, Server  # noqa: E402

FOLDER = os.path.join(ROOT, "build/agents")
PACKAGES = {"codex": "@openai/codex@0.171.0", "opencode": "opencode-ai@1.18.33",
            "cline": "cline@3.0.65"}
CONTEXT = 98304
CONTENT, ANSWER = "seventeen plums", "It says: 17 plums."
TASK = "Read note.txt and tell me what it says."
SECONDS = 240

CODEX = """model = "glint"
model_provider = "glint"
[model_providers.glint]
name = "glint"
base_url = "{url}"
wire_api = "responses"
env_key = "GLINT_KEY"
"""


def call_text(name, argument, value):
    """A call as the model writes it, as parts for write_script."""
    return [f" to={name}".encode(), "<|message|>",
            (f'<atem:function_calls>\n<atem:invoke name="{name}">\n<atem:parameter name="'
             f'{argument}">{value}</atem:parameter>\n</atem:invoke>\n</atem:function_calls>'
             ).encode(), "<|eot|>"]


class Switch:
    """Hands requests on to one of two servers, and remembers them."""

    def __init__(self, calling, answering):
        self.ports = calling, answering
        self.requests = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        """One request on each connection: the server is told to close it."""
        data = b""
        while b"\r\n\r\n" not in data:
            if not (block := client.recv(65536)):
                return
            data += block
        head, body = data.split(b"\r\n\r\n", 1)
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        while length and len(body) < int(length.group(1)):
            body += client.recv(65536)
        tools = json.loads(body).get("tools", []) if body else []
        answered = not tools or CONTENT in body.decode()
        self.requests.append((head.split(b" ")[1].decode(), tools, CONTENT in body.decode()))
        head = re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", head) + b"\r\nConnection: close"
        with socket.create_connection(("127.0.0.1", self.ports[answered])) as server:
            server.sendall(head + b"\r\n\r\n" + body)
            while block := server.recv(65536):
                client.sendall(block)
        client.close()


def commands(name, home, url):
    """The agent's settings, written under home, and its command lines."""
    program = os.path.join(FOLDER, "node_modules/.bin", name)
    if name == "codex":
        os.mkdir(os.path.join(home, ".codex"))
        with open(os.path.join(home, ".codex/config.toml"), "w", encoding="utf-8") as file:
            file.write(CODEX.format(url=url))
        return [[program, "exec", "--skip-git-repo-check", "-s", "danger-full-access", TASK]]
    if name == "opencode":
        settings = {"model": "glint/glint", "provider": {"glint": {
            "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url, "apiKey": "k"},
            "models": {"glint": {"tool_call": True, "limit": {"context": CONTEXT,
                                                              "output": 4096}}}}}}
        with open(os.path.join(home, "work/opencode.json"), "w", encoding="utf-8") as file:
            json.dump(settings, file)
        return [[program, "run", TASK]]
    return [[program, "auth", "-p", "openai", "-k", "k", "-m", "glint", "-b", url],
            [program, "--json", TASK]]


def call_of(name, path):
    if name == "codex":
        return call_text("exec_command", "cmd", "cat note.txt")
    if name == "opencode":
        return call_text("read", "filePath", path)
    return call_text("read_files", "files", json.dumps([{"path": path}]))


def try_agent(name):
    with tempfile.TemporaryDirectory() as home:
        work = os.path.join(home, "work")
        os.mkdir(work)
        path = os.path.join(work, "note.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONTENT + "\n")
        servers = []
        for parts in (call_of(name, path), [b" to=user", "<|message|>", ANSWER.encode(),
                                            "<|eot|>"]):
            model = os.path.join(home, f"script{len(servers)}.gguf")
            write_script(model, parts, context=CONTEXT)
            servers.append(Server("--temperature", "0", model=model))
        switch = Switch(*(server.port for server in servers))
        env = {"PATH": os.environ["PATH"], "HOME": home, "TERM": "dumb", "GLINT_KEY": "k",
               "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
        began, said = time.time(), ""
        for command in commands(name, home, switch.url):
            run = subprocess.run(command, cwd=work, env=env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 timeout=SECONDS, check=False)
            said += run.stdout
        took = time.time() - began
        logs = [server.stop() for server in servers]
        told = "".join(log for _, log in logs)
        listed = [tools for _, tools, _ in switch.requests if tools]
        results = [path for path, tools, answered in switch.requests if tools and answered]
        good = (run.returncode == 0 and ANSWER in said and listed and len(results) == 1 and
                all(status == 0 for status, _ in logs))
        print(f"{'ok    ' if good else 'FAILED'} {name}: {took:.1f} s, {len(switch.requests)} "
              f"requests, {len(listed[0]) if listed else 0} tools, exit {run.returncode}")
        if not good:
            print(switch.requests and [(p, len(t), a) for p, t, a in switch.requests], said, told)
        return good


def install():
    names = [package.rsplit("@", 1) for package in PACKAGES.values()]
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "package.json"), "w", encoding="utf-8") as file:
        json.dump({"private": True, "dependencies": dict(names)}, file)
    subprocess.run(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund",
                    "--loglevel=error"], cwd=FOLDER, check=True)


def leave_network():
    """A network of this process's own that holds the loopback alone; False where refused."""
    new_user, new_net, up, get_flags, set_flags = 0x10000000, 0x40000000, 1, 0x8913, 0x8914
    if ctypes.CDLL(None, use_errno=True).unshare(new_user | new_net) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        row = fcntl.ioctl(probe, get_flags, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", row)[1] | up
        fcntl.ioctl(probe, set_flags, struct.pack("16sH14x", b"lo", flags))
    return True


def main():
    if not shutil.which("npm"):
        sys.exit("no npm found: the agents cannot be tried")
    install()
    print("without a network" if leave_network() else "with a network: unshare is refused here")
    results = [try_agent(name) for name in sys.argv[1:] or PACKAGES]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
