# SPDX-License-Identifier: Apache-2.0
"""test_deploy.py: the examples in deploy/ fit the program."""
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile

import exposition
from serving import DEMO, PROGRAM, ROOT, Server, serving

DEPLOY = os.path.join(ROOT, "deploy")


def read(name):
    with open(os.path.join(DEPLOY, name), encoding="utf-8") as file:
        return file.read()


def expressions(board):
    for panel in board["panels"]:
        assert panel["targets"], panel["title"]
        for target in panel["targets"]:
            yield target["expr"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]


def check_board():
    board = json.loads(read("grafana.json"))
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in board["panels"]]
    assert len(set(places)) == len(places) > 10
    assert len({p["id"] for p in board["panels"]}) == len(places)
    with serving() as server:
        server.chat("Hello", max_tokens=5)
        families = exposition.read(server.send("GET", "/metrics")[2].decode())
    labels = {"instance", "le"}
    labels |= {label for _, samples in families.values() for s in samples for label in s[1]}
    for expression in expressions(board):
        names = re.findall(r"\bglint_\w+", expression)
        assert names and expression.count("(") == expression.count(")"), expression
        for name in names:
            if name not in families:
                base, _, end = name.rpartition("_")
                assert end == "bucket" and families[base][0] == "histogram", name
            elif "rate(" in expression:
                assert families[name][0] == "counter", name
        for group in re.findall(r"by \(([^)]*)\)", expression):
            assert set(group.split(", ")) <= labels, expression


def check_units(folder):
    unit = read("glint.service")
    for name in "glint.service", "glint.socket", "glint-ollama.socket":
        text = read(name).replace("/usr/local/bin/glint", PROGRAM)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    if shutil.which("systemd-analyze"):
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
             *(os.path.join(folder, name) for name in os.listdir(folder))],
            stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True)
        own = [line for line in done.stdout.splitlines() if "glint" in line]
        assert done.returncode == 0 and not own, done.stdout
    # The command of the unit starts, with its sockets and word to the manager.
    [line] = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    words = shlex.split(line.replace("%S/glint", folder).replace("${GLINT_MODEL}", DEMO))
    assert words[:2] == ["/usr/local/bin/glint", "serve"]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(os.path.join(folder, "notify"))
        server = Server(*words[2:], env={"NOTIFY_SOCKET": os.path.join(folder, "notify")},
                        wait=False)
        server.read_until(r'"event":"ready".*"url":"http://127.0.0.1:(\d+)"')
        assert manager.recv(2000).startswith(b"STATUS=")
        assert manager.recv(2000).startswith(b"READY=1\n")
        assert server.ask("/v1/models")["data"]
        status, said = server.stop()
        assert status == 0, said
    assert "Type=notify" in unit


def check_container():
    """What can be said without building it: what it copies is there, the command starts."""
    text = read("Containerfile").replace("\\\n", " ")
    for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.M):
        for name in line.split()[:-1]:
            assert os.path.exists(os.path.join(ROOT, name)), name
    [entry] = re.findall(r"^ENTRYPOINT (.*)$", text, re.M)
    words = json.loads(entry)
    assert words[:2] == ["/usr/local/bin/glint", "serve"]
    done = subprocess.run([PROGRAM, "serve", *words[2:], "--help"], stdout=subprocess.PIPE)
    assert done.returncode == 0
    [check] = re.findall(r"CMD (\[.*\])", text)
    assert json.loads(check)[-1].endswith(":8080/health")


def main():
    check_board()
    with tempfile.TemporaryDirectory() as folder:
        check_units(folder)
    check_container()


if __name__ == "__main__":
    sys.exit(main())
