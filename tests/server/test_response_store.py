# SPDX-License-Identifier: Apache-2.0
"""test_response_store.py: stored responses: conversations by id, who may see what, restarts,
kill -9 under load, a full disk, bounds."""
import json
import os
import shlex
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

from serving import PROGRAM, SLOWER, Server, join_response, serving

SUM = "What is 47 + 38?"
KEYS = ["--api-key", "one", "--api-key", "two"]
ENOUGH = 40 // SLOWER + 6  # answers before the server is killed
ONE, TWO = ({"Authorization": "Bearer " + key} for key in ("one", "two"))


def create(server, said, headers=None, **fields):
    body = {"input": said, "temperature": 0, "max_output_tokens": 4, **fields}
    return server.ask("/v1/responses", body, headers)


class ResponseStore(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "store.db")
        self.flags = ["--store", self.file, "--current-date", "2026-11-30"]

    def check_whole(self):
        with sqlite3.connect(self.file) as store:
            self.assertEqual(store.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        store.close()

    def test_conversation(self):
        """Going on from an id is the same as sending all again, also after a restart."""
        with serving(*self.flags) as server:
            self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
            first = create(server, SUM, max_output_tokens=300)
            second = create(server, [{"role": "user", "content": "And 1 + 2?"}],
                            previous_response_id=first["id"], instructions="Add.")
            self.assertTrue(first["store"] and second["store"])
            self.assertEqual(second["previous_response_id"], first["id"])
        with serving(*self.flags) as server:
            for made in (first, second):
                self.assertEqual(server.ask("/v1/responses/" + made["id"]), made)
            body = {"input": "Thanks", "previous_response_id": second["id"]}
            third = join_response(server.stream("/responses", {
                **body, "stream": True, "temperature": 0, "max_output_tokens": 4}))
            everything = [{"role": "user", "content": SUM}, *first["output"],
                          {"role": "user", "content": "And 1 + 2?"}, *second["output"],
                          {"role": "user", "content": "Thanks"}]
            count = server.ask("/v1/responses/input_tokens", {"input": everything})
            self.assertEqual(third["usage"]["input_tokens"], count["input_tokens"])
            self.assertEqual(server.ask("/v1/responses/input_tokens", body), count)
            self.check_items(server, third["id"], everything)
            status, _, data = server.send("DELETE", "/v1/responses/" + second["id"])
            self.assertEqual((status, json.loads(data)["deleted"]), (200, True))
            server.ask("/v1/responses/" + second["id"], expect=404)
            error = server.ask("/v1/responses", body, expect=400)["error"]
            self.assertEqual((error["param"], error["code"]),
                             ("previous_response_id", "previous_response_not_found"))
            error = server.ask("/v1/responses", {**body, "previous_response_id": third["id"]},
                               expect=400)["error"]  # the one in the middle is missing
            self.assertIn(second["id"], error["message"])
            error = server.ask("/v1/responses/%s/cancel" % first["id"], {}, expect=400)["error"]
            self.assertIn("is over", error["message"])
        with open(self.file, "rb") as file:
            data = file.read()
        self.assertIn(SUM.encode(), data)
        self.assertNotIn(b"And 1 + 2?", data)  # overwritten, not only forgotten

    def check_items(self, server, name, everything):
        path = "/v1/responses/%s/input_items" % name
        listed = server.ask(path + "?order=asc")
        self.assertFalse(listed["has_more"])
        self.assertEqual([i.get("role") or i["type"] for i in listed["data"]],
                         [i.get("role") or i["type"] for i in everything])
        found, query = [], "?limit=2"
        while query:
            page = server.ask(path + query)
            found += page["data"]
            self.assertEqual((page["first_id"], page["last_id"]),
                             (page["data"][0]["id"], page["data"][-1]["id"]))
            query = page["has_more"] and "?limit=2&after=" + page["last_id"]
        self.assertEqual(found, listed["data"][::-1])
        server.ask(path + "?limit=0", expect=400)

    def test_item_references(self):
        with serving(*self.flags) as server:
            first = create(server, SUM, max_output_tokens=300)
            user = {"role": "user", "content": SUM}
            named = [{"type": "item_reference", "id": i["id"]} for i in first["output"]]
            bodies = [{"input": [user, *items, user]} for items in (first["output"], named)]
            counts = [server.ask("/v1/responses/input_tokens", body) for body in bodies]
            self.assertEqual(*counts)
            second = server.ask("/v1/responses", {**bodies[1], "max_output_tokens": 1})
            listed = server.ask("/v1/responses/%s/input_items?order=asc" % second["id"])["data"]
            self.assertEqual([i["type"] for i in listed],
                             ["message", "reasoning", "message", "message"])

    def test_owners(self):
        with serving(*self.flags, *KEYS) as server:
            made = create(server, SUM, ONE)
            path = "/v1/responses/" + made["id"]
            self.assertEqual(server.ask(path, headers=ONE), made)
            server.ask(path, headers=TWO, expect=404)
            server.ask(path + "/input_items", headers=TWO, expect=404)
            self.assertEqual(server.send("DELETE", path, headers=TWO)[0], 404)
            server.ask("/v1/responses", {"input": "x", "previous_response_id": made["id"]}, TWO,
                       expect=400)
            server.ask("/v1/responses", {"input": [
                {"type": "item_reference", "id": made["output"][0]["id"]}]}, TWO, expect=400)
            server.ask(path, expect=401)
        with serving(*self.flags, "--api-key", "zero", *KEYS) as server:  # not by their order
            self.assertEqual(server.ask(path, headers=ONE), made)
            server.ask(path, headers={"Authorization": "Bearer zero"}, expect=404)
        with open(self.file, "rb") as file:
            self.assertNotIn(b"Bearer", file.read())

    def test_not_stored(self):
        with serving(*self.flags) as server:
            made = create(server, SUM, store=False)
            self.assertFalse(made["store"])
            server.ask("/v1/responses/" + made["id"], expect=404)
        with serving() as server:
            self.assertFalse(create(server, SUM, store=True)["store"])
            error = server.ask("/v1/responses", {"input": "x", "previous_response_id": "resp_1"},
                               expect=400)["error"]
            self.assertIn("stores no responses", error["message"])

    def test_files_that_cannot_be(self):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("no database, but long enough to look at" * 100)
        other = self.file + ".other"
        with sqlite3.connect(other) as store:
            store.execute("CREATE TABLE t(x)")
        store.close()
        for path, word in ((self.file, "not a database"), (other, "another program"),
                           ("/nowhere/x.db", "No such file")):
            ran = subprocess.run([PROGRAM, "serve", "--port", "0", "--store", path],
                                 capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(ran.returncode, 1, ran.stderr)
            self.assertIn(path, ran.stderr)
            self.assertIn(word, ran.stderr)

    def test_clients_hear_of_no_files(self):
        server = Server(*self.flags)
        try:
            kept = create(server, SUM)["id"]
            store = sqlite3.connect(self.file)
            with store:
                for name, in store.execute("SELECT name FROM sqlite_master WHERE type = 'table' "
                                           "AND name NOT LIKE 'sqlite%'").fetchall():
                    store.execute(f"ALTER TABLE {name} RENAME TO lost_{name}")
            store.close()
            errors = [server.ask("/v1/responses/" + kept, expect=500),
                      server.ask("/v1/responses", {"input": "x", "previous_response_id": kept},
                                 expect=500)]
        finally:
            status, said = server.stop()
        self.assertEqual(status, 0, said)
        for error in errors:
            self.assertIn("log", error["error"]["message"])
            self.assertNotIn(self.file, error["error"]["message"])
        self.assertEqual(said.count(f"the store of responses: {self.file}: "), 2, said)

    def test_killed_under_load(self):
        """What a client was told is stored is there, whole, after kill -9."""
        server = Server(*self.flags, "-np", "8")
        told, lock = [], threading.Lock()

        def ask_on(i):
            previous = None
            try:
                while True:
                    body = {"input": "%d" % i, "max_output_tokens": 1, "stream": True,
                            "previous_response_id": previous, "temperature": 0}
                    answer = join_response(server.stream("/v1/responses", body))
                    previous = answer["id"] if len(told) % 5 else None
                    with lock:
                        told.append(answer)
            except (OSError, AssertionError, ValueError, IndexError):
                pass  # the server is gone

        threads = [threading.Thread(target=ask_on, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        end = time.time() + 60 * SLOWER
        while len(told) < ENOUGH and time.time() < end:
            time.sleep(0.01)
        server.process.kill()
        for thread in threads:
            thread.join()
        server.process.wait()
        server.reader.join()
        server.process.stderr.close()
        self.assertGreaterEqual(len(told), ENOUGH)
        with serving(*self.flags) as server:
            for answer in told:
                self.assertEqual(server.ask("/v1/responses/" + answer["id"]), answer)
                server.ask("/v1/responses/%s/input_items" % answer["id"])
        self.check_whole()

    def test_full_disk(self):
        """The answer is given, and says that it is not stored; earlier ones stay."""
        script = os.path.join(os.path.dirname(self.file), "limited.sh")
        with open(script, "w", encoding="utf-8") as file:  # no file over 200 KiB can be written
            file.write("trap '' XFSZ\nulimit -f 200\nexec %s \"$@\"\n" % shlex.quote(PROGRAM))
        server = Server(*self.flags, command=["bash", script])
        try:
            first = create(server, SUM)
            self.assertTrue(first["store"])
            big = {"metadata": {"x": "y" * 300000}}
            second = create(server, SUM, **big)
            self.assertEqual((second["status"], second["store"]), ("incomplete", False))
            self.assertTrue(second["output"])
            server.ask("/v1/responses/" + second["id"], expect=404)
            self.assertEqual(server.ask("/v1/responses/" + first["id"]), first)
            third = create(server, SUM)
            self.assertTrue(third["store"])
        finally:
            status, said = server.stop()
        self.assertEqual(status, 0, said)
        self.assertIn(second["id"] + " was not stored: " + self.file, said)
        self.check_whole()

    def test_bounds(self):
        """The file stays small: the oldest go, but not a conversation that goes on."""
        with serving(*self.flags, "--store-size", "1") as server:
            big = {"metadata": {"x": "y" * 60000}}
            chain = create(server, SUM, max_output_tokens=1)
            old = create(server, SUM, max_output_tokens=1, **big)
            for i in range(25):
                last = create(server, "%d" % i, max_output_tokens=1, **big)
                if i % 5 == 0:
                    chain = create(server, "On", max_output_tokens=1,
                                   previous_response_id=chain["id"])
            self.assertLess(os.path.getsize(self.file), 1 << 20)
            server.ask("/v1/responses/" + old["id"], expect=404)
            server.ask("/v1/responses/" + last["id"])
            items = server.ask("/v1/responses/%s/input_items?order=asc" % chain["id"])["data"]
            self.assertEqual(items[0]["content"][0]["text"], SUM)
            huge = create(server, SUM, metadata={"x": "y" * 300000})
            self.assertFalse(huge["store"])
        self.check_whole()
        with sqlite3.connect(self.file) as store:
            store.execute("UPDATE response SET used = used - 31 * 86400000000")
        store.close()
        with serving(*self.flags) as server:
            server.ask("/v1/responses/" + last["id"])  # until something is stored
            create(server, SUM)
            server.ask("/v1/responses/" + last["id"], expect=404)


if __name__ == "__main__":
    unittest.main()
