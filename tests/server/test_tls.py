# SPDX-License-Identifier: Apache-2.0
"""test_tls.py: HTTPS. Certificates are made here by the openssl command."""
import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from serving import DEMO, PROGRAM, SLOWER, join_deltas, serving

LONG = {"messages": [{"role": "user", "content": "Count"}], "temperature": 0,
        "max_tokens": 100000, "ignore_eos": True, "stream": True}


def make_pair(folder, name, *more):
    """A key and a self-signed certificate for this machine."""
    key, certificate = (os.path.join(folder, name + end) for end in (".key", ".pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-subj", "/CN=" + name, "-days", "2",
                    "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key,
                    "-out", certificate, *(more or ["-nodes"])], check=True, capture_output=True)
    return certificate, key


def check_refusals(folder, certificate, key):
    """Files that cannot be used end the start with a line that names the file and why."""
    other = make_pair(folder, "other")[1]
    locked = make_pair(folder, "locked", "-passout", "pass:secret")[1]
    huge, binary, empty = (os.path.join(folder, name) for name in ("huge", "binary", "empty"))
    for path, data in (huge, b"-" * (2 << 20)), (binary, b"\0\1\2"), (empty, b""):
        with open(path, "wb") as file:
            file.write(data)
    absent = os.path.join(folder, "absent.pem")
    cases = [
        (certificate, absent, "--ssl-key-file", absent + ": No such file"),
        (absent, key, "--ssl-cert-file", absent + ": No such file"),
        (folder, key, "--ssl-cert-file", folder + ": Is a directory"),
        (certificate, other, "--ssl-key-file", "not the key of the first certificate of"),
        (key, key, "--ssl-cert-file", "expected a certificate in PEM"),
        (certificate, certificate, "--ssl-key-file", "expected a key in PEM"),
        (certificate, locked, "--ssl-key-file", "the key needs a password"),
        (huge, key, "--ssl-cert-file", "over 1 MiB"),
        (binary, key, "--ssl-cert-file", "binary; expected a PEM file"),
        (empty, key, "--ssl-cert-file", "expected a certificate in PEM"),
        (certificate, None, "--ssl-cert-file", "needs --ssl-key-file too"),
        (None, key, "--ssl-key-file", "needs --ssl-cert-file too"),
    ]
    if os.geteuid() != 0:  # root may read everything
        closed = shutil.copy(key, os.path.join(folder, "closed.key"))
        os.chmod(closed, 0)
        cases.append((certificate, closed, "--ssl-key-file", closed + ": Permission denied"))
    for one, two, option, text in cases:
        flags = (["--ssl-cert-file", one] if one else []) + (["--ssl-key-file", two] if two else [])
        done = subprocess.run([PROGRAM, "serve", "-m", DEMO, "--port", "0", "--no-store", *flags],
                              stderr=subprocess.PIPE, text=True, timeout=60 * SLOWER)
        assert done.returncode == 1 and option in done.stderr and text in done.stderr, \
            (one, two, done)
        assert "PRIVATE" not in done.stderr


def check_answers(server, plain_answer):
    whole = server.chat("Hello", max_tokens=40)
    body = {"messages": [{"role": "user", "content": "Hello"}], "temperature": 0,
            "max_tokens": 40, "stream": True}
    message, finish, _ = join_deltas(server.stream("/v1/chat/completions", body))
    said = whole["choices"][0]
    assert message["content"] == (said["message"]["content"] or "")
    assert finish == said["finish_reason"]
    assert said["message"] == plain_answer["choices"][0]["message"]
    # A body of many TLS records.
    large = server.ask("/tokenize", {"content": "word " * 200000})
    assert len(large["tokens"]) > 100000


def check_kept_alive(server):
    connection = server.connect()
    connection.connect()
    first = connection.sock
    for _ in range(5):
        connection.request("GET", "/v1/models")
        answer = connection.getresponse()
        assert answer.status == 200 and json.loads(answer.read())["object"] == "list"
        assert connection.sock is first
    connection.close()


def check_leaving(server):
    """A client that leaves is noticed, whether it says so (close_notify) or not."""
    for polite in True, False:
        before = server.metric('requests_cancelled_total{phase="decode"}')
        stream = server.raw()
        body = json.dumps(LONG).encode()
        stream.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body) + body)
        got = b""
        while b'"content"' not in got and b'"reasoning' not in got:
            got += stream.recv(4096)
        if polite:
            with contextlib.suppress(OSError, ValueError):
                stream.settimeout(0.2)
                stream.unwrap()
        else:
            stream.shutdown(socket.SHUT_WR)
        stream.close()
        end = time.time() + 10 * SLOWER
        while server.metric('requests_cancelled_total{phase="decode"}') != before + 1:
            assert time.time() < end, "the client that left was not noticed"
            time.sleep(0.02)


def check_strangers(server, certificate):
    """What is no TLS, or a version of it that is too old, is turned away and harms nobody."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20 * SLOWER) as plain:
        plain.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        data = b"?"
        with contextlib.suppress(ConnectionResetError):
            while data:
                data = plain.recv(4096)
                assert not data.startswith(b"HTTP")
    old = ssl.create_default_context(cafile=certificate)
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    try:
        old.wrap_socket(socket.create_connection(("127.0.0.1", server.port)),
                        server_hostname="127.0.0.1")
        raise AssertionError("TLS 1.1 was accepted")
    except (ssl.SSLError, ConnectionError):
        pass
    assert server.raw().version() in ("TLSv1.3", "TLSv1.2")
    assert server.send("GET", "/health")[0] == 200


def main():
    if not shutil.which("openssl"):
        print("no openssl command")
        return 77
    with serving() as server:
        plain_answer = server.chat("Hello", max_tokens=40)
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = make_pair(folder, "server")
        check_refusals(folder, certificate, key)
        trust = ssl.create_default_context(cafile=certificate)
        with serving("--ssl-cert-file", certificate, "--ssl-key-file", key, "--ollama-port", "0",
                     tls=trust) as server:
            check_answers(server, plain_answer)
            check_kept_alive(server)
            check_leaving(server)
            check_strangers(server, certificate)
            found = server.wait_for_line(r"OLLAMA_HOST=https://127.0.0.1:(\d+)")
            server.port = int(found.group(1))
            assert server.ask("/api/version")["version"]
    return 0


if __name__ == "__main__":
    sys.exit(main())
