# SPDX-License-Identifier: Apache-2.0
"""test_service.py: sockets that others opened (LISTEN_FDS), sockets with a path, NOTIFY_SOCKET."""
import http.client
import os
import socket
import subprocess
import sys
import tempfile

from serving import DEMO, PROGRAM, SLOWER, Server, serving

# Puts the descriptors at 3, 4, ... and names the process as their owner, as systemd does.
ACTIVATE = """import os, sys
n = len(fds := [int(fd) for fd in sys.argv[1].split(",") if fd])
high = [os.dup2(fd, 50 + i) for i, fd in enumerate(fds)]
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i)
    os.close(fd)
os.environ.setdefault("LISTEN_PID", str(os.getpid()))
os.environ.setdefault("LISTEN_FDS", str(n))
os.execv(sys.argv[2], sys.argv[2:])"""


def activated(*sockets):
    fds = tuple(each.fileno() for each in sockets)
    return {"command": (sys.executable, "-c", ACTIVATE, ",".join(map(str, fds)), PROGRAM),
            "fds": fds}


def listening(address=("127.0.0.1", 0)):
    made = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    made.bind(address)
    made.listen(16)
    return made


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60 * SLOWER)
        self.sock.connect(self.path)


def get(connection, path, host="localhost"):
    connection.request("GET", path, headers={"Host": host})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


def check_activation(folder):
    """Two inherited sockets by name; who came before the server is answered by it."""
    path = os.path.join(folder, "ollama.sock")
    with listening() as tcp, listening(path) as local:
        port = tcp.getsockname()[1]
        early = socket.create_connection(("127.0.0.1", port))
        early.sendall(b"GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n")
        names = {"LISTEN_FDNAMES": "ollama:web"}
        with serving("--port", "1", env=names, **activated(local, tcp)) as server:
            assert server.port == port
            early.settimeout(60 * SLOWER)
            assert early.recv(12)[9:] in (b"200", b"503")
            assert server.send("GET", "/v1/models")[0] == 200
            assert server.send("GET", "/v1/models", headers={"Host": "evil.example"})[0] == 403
            status, data = get(UnixConnection(path), "/api/version")
            assert status == 200 and b"version" in data
            server.wait_for_line(r"OLLAMA_HOST=unix:" + path)
        early.close()
        assert os.path.exists(path), "the path belongs to who made it"
        # The sockets go on for the next server, and so does who connects in between.
        early = socket.create_connection(("127.0.0.1", port), timeout=60 * SLOWER)
        early.sendall(b"GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n")
        with serving(env=names, **activated(local, tcp)):
            assert early.recv(12)[9:] in (b"200", b"503")
        early.close()
    # Without names the second is Ollama's.
    with listening() as first, listening() as second:
        with serving(**activated(first, second)) as server:
            assert server.port == first.getsockname()[1]
            server.port = second.getsockname()[1]
            assert server.ask("/api/version")["version"]
    # Variables that are meant for another process.
    with listening() as other, serving(env={"LISTEN_PID": "1"}, **activated(other)) as server:
        assert server.port != other.getsockname()[1]


def refused(flags=(), env=None, command=(PROGRAM,), fds=()):
    """What a start says that must fail."""
    done = subprocess.run([*command, "serve", "-m", DEMO, "--port", "0", "--no-store", *flags],
                          stderr=subprocess.PIPE, text=True, timeout=60 * SLOWER, pass_fds=fds,
                          env={**os.environ, **(env or {})})
    assert done.returncode == 1, done
    return done.stderr


def check_refusals(folder):
    with socket.socket() as idle, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram, \
            open(os.path.join(folder, "file"), "wb") as file, listening() as good:
        datagram.bind(("127.0.0.1", 0))
        assert "a socket that does not" in refused(**activated(idle))
        assert "a socket of another type" in refused(**activated(datagram))
        assert "descriptor 3: expected a socket: " in refused(**activated(file))
        assert "descriptor 4: " in refused(**activated(good, idle))
        assert "LISTEN_FDS: found \"3\"" in refused(**activated(good, good, good))
        for text in "x", "-1", "99999999999999999999", "1 ", "":
            said = refused(env={"LISTEN_FDS": text}, **activated(good))
            assert f'LISTEN_FDS: found "{text}"' in said, said
        assert "LISTEN_FDNAMES: found" in refused(env={"LISTEN_FDNAMES": "ollama:ollama"},
                                                  **activated(good, good))
    for text in "relative", "@", "/" + "x" * 200:
        assert "NOTIFY_SOCKET: found" in refused(env={"NOTIFY_SOCKET": text})


def check_paths(folder):
    """A path that a killed server left is taken over, one where a server listens is not."""
    path = os.path.join(folder, "glint.sock")
    listening(path).close()
    server = Server("--host", path, wait=False)
    try:
        server.read_until("is ready at unix:")
        assert get(UnixConnection(path), "/v1/models", host="any.name")[0] == 200
        assert "another program listens there" in refused(["--host", path])
        assert get(UnixConnection(path), "/v1/models")[0] == 200
    finally:
        status, said = server.stop()
    assert status == 0 and not os.path.exists(path), said


def check_notifications(folder):
    for name in os.path.join(folder, "notify"), "\0glint-test-%d" % os.getpid():
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(name)
            manager.settimeout(60 * SLOWER)
            env = {"NOTIFY_SOCKET": name.replace("\0", "@")}
            with serving(env=env) as server:
                assert manager.recv(2000) == b"STATUS=Loading the model"
                ready = manager.recv(2000).decode().split("\n")
                assert ready[0] == "READY=1" and len(ready) == 2
                assert ready[1].startswith("STATUS=") and f":{server.port}" in ready[1], ready
            assert manager.recv(2000).startswith(b"STOPPING=1\nSTATUS=")
            manager.setblocking(False)
            try:
                raise AssertionError(manager.recv(2000))
            except BlockingIOError:
                pass
            # A model that cannot be loaded: never ready.
            broken = os.path.join(folder, "broken.gguf")
            with open(broken, "wb") as file:
                file.write(b"GGUF" + b"\0" * 100)
            refused(["-m", broken], env=env)
            said = []
            try:
                while True:
                    said.append(manager.recv(2000))
            except BlockingIOError:
                pass
            assert not any(b"READY" in text for text in said), said
    # A manager that is gone harms nothing.
    with serving(env={"NOTIFY_SOCKET": os.path.join(folder, "nobody")}) as server:
        assert server.send("GET", "/health")[0] == 200


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_activation(folder)
        check_refusals(folder)
        check_paths(folder)
        check_notifications(folder)


if __name__ == "__main__":
    main()
