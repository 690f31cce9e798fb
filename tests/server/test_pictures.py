# SPDX-License-Identifier: Apache-2.0
"""test_pictures.py: pictures in requests: every protocol's shape, the tokens they count, what is
looked at once, several in order, what is refused, clients that leave, pictures by address.
"""
import base64
import http.server
import json
import os
import shutil
import struct
import subprocess
import tempfile
import threading
import time
import unittest
import zlib

from serving import DEMO, PROGRAM, ROOT, Server, join_deltas

SHAPES_PATH = os.path.join(ROOT, "tools/demo/shapes.png")
SHAPES = open(SHAPES_PATH, "rb").read()
WHAT = "What is in the picture?"


def png(width, height, colour):
    """A PNG of one colour, or of what colour(x, y) says."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    if callable(colour):
        rows = b"".join(b"\0" + b"".join(bytes(colour(x, y)) for x in range(width))
                        for y in range(height))
    else:
        rows = (b"\0" + bytes(colour) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) +
            chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def disc(colour):
    """A disc on white, as the demo model knows shapes."""
    return png(168, 168, lambda x, y: colour if (x - 84) ** 2 + (y - 84) ** 2 < 3000
               else (255, 255, 255))


RED, BLUE = disc((220, 40, 40)), disc((40, 80, 220))


def data_url(data, head="data:image/png;base64,"):
    return head + base64.b64encode(data).decode()


def part(data):
    return {"type": "image_url", "image_url": {"url": data_url(data)}}


def ask_about(text, *pictures):
    return [{"role": "user", "content": [part(p) for p in pictures] +
             [{"type": "text", "text": text}]}]


def leave(server, body):
    """Asks, and hands back the connection, to be closed before the answer."""
    connection = server.raw()
    data = json.dumps(body).encode()
    connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(data) + data)
    return connection


def wait_for_count(server, name, count):
    end = time.time() + 60
    while server.metric(name) < count:
        assert time.time() < end, f"{name} is {server.metric(name)}, expected {count}"
        time.sleep(0.02)


class OtherServer(http.server.BaseHTTPRequestHandler):
    """Pictures by address, and what may be wrong with them."""
    protocol_version = "HTTP/1.1"
    stalled = threading.Event()

    def do_GET(self):
        data, status, head = b"", 200, {}
        if self.path == "/shapes.png":
            data = SHAPES
        elif self.path == "/moved":
            status, head = 302, {"Location": "/shapes.png"}
        elif self.path == "/text":
            data = b"<html>"
        elif self.path == "/stall":
            self.stalled.set()
            self.rfile.read(1)  # until the other side has gone
            return
        else:
            status = 404
        self.send_response(status)
        for name, value in {**head, "Content-Length": len(data)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class ByAddress(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherServer)
        cls.other.daemon_threads = True
        cls.url = f"http://127.0.0.1:{cls.other.server_port}"
        threading.Thread(target=cls.other.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.other.shutdown()
        cls.other.server_close()

    @staticmethod
    def messages(url):
        return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}},
                                             {"type": "text", "text": WHAT}]}]

    def refused(self, server, url, says):
        body = {"messages": self.messages(url), "max_tokens": 1}
        error = server.ask("/v1/chat/completions", body, expect=400)["error"]
        self.assertEqual(error["param"], "messages[0].content[0]")
        self.assertIn(says, error["message"])

    def test_public_only(self):
        server = Server("--allow-remote-images")
        try:
            port = self.other.server_port
            for host in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "127.1", "2130706433",
                         "[::ffff:127.0.0.1]"):
                self.refused(server, f"http://{host}:{port}/shapes.png", "not public")
            self.refused(server, "file:///etc/passwd", "expected a data URL")
            self.refused(server, "ftp://127.0.0.1/x", "expected a data URL")
            self.refused(server, "http://" + "a" * 3000, "at most 2000")
        finally:
            self.assertEqual(server.stop()[0], 0)

    def test_private_too(self):
        server = Server("--allow-private-images")
        try:
            expected = server.chat(ask_about(WHAT, SHAPES))["choices"][0]["message"]["content"]
            for path in ("/shapes.png", "/moved"):
                answer = server.chat(self.messages(self.url + path))
                self.assertEqual(answer["choices"][0]["message"]["content"], expected)
            block = {"type": "image", "source": {"type": "url", "url": self.url + "/shapes.png"}}
            answer = server.ask("/v1/messages", {"max_tokens": 100, "temperature": 0, "messages": [
                {"role": "user", "content": [block, {"type": "text", "text": WHAT}]}]})
            self.assertEqual(answer["content"][-1]["text"], expected)
            self.assertEqual(server.metric("images_total"), 1)
            self.refused(server, self.url + "/text", "not a picture")
            self.refused(server, self.url + "/none", "404")
            # A slow server holds up nobody, and the client that leaves it ends the wait.
            waiting = leave(server, {"messages": self.messages(self.url + "/stall")})
            self.assertTrue(OtherServer.stalled.wait(30))
            self.assertEqual(server.chat(self.messages(self.url + "/moved"))["choices"][0][
                "message"]["content"], expected)
            waiting.close()
            wait_for_count(server, 'requests_cancelled_total{phase="picture"}', 1)
        finally:
            self.assertEqual(server.stop()[0], 0)

    def test_no_vision_file(self):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "alone.gguf")
            os.symlink(DEMO, model)
            server = Server(model=model)
            try:
                self.refused(server, data_url(SHAPES), "--mmproj")
                self.assertFalse(server.ask("/props")["modalities"]["vision"])
            finally:
                self.assertEqual(server.stop()[0], 0)
            mmproj = DEMO.replace(".gguf", "-mmproj.gguf")
            server = Server("--mmproj", mmproj, "--no-draft", model=model)
            try:
                server.chat(ask_about(WHAT, SHAPES), max_tokens=1)
                self.assertTrue(server.ask("/props")["modalities"]["vision"])
            finally:
                self.assertEqual(server.stop()[0], 0)


# What ffprobe and ffmpeg would say of a video of four frames; the file's first bytes tell whether
# it is one, or one that takes its time.
FAKES = {
    "ffprobe": """for file; do :; done
    case $(head -c 4 "${file#file:}") in
        good|slow) printf 'avg_frame_rate=2/1\\nnb_read_packets=4\\n' ;;
        *) echo 'Invalid data' >&2; exit 1 ;;
    esac""",
    "ffmpeg": """file=; for word; do case $word in file:*) file=${word#file:} ;; esac; done
    [ "$(head -c 4 "$file")" = slow ] && mkdir "$TMPDIR/begun" && exec sleep 50
    for i in 1 2 3 4; do printf 'P6\\n28 28\\n255\\n'; head -c 2352 /dev/zero; done""",
}


class Videos(unittest.TestCase):
    def test_parts(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in FAKES.items():
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\n{text}\n")
                os.chmod(path, 0o755)
            server = Server("--video-summed", env={
                "PATH": folder + ":" + os.environ["PATH"], "TMPDIR": folder})
            try:
                self.ask(server, folder)
                left = [name for name in os.listdir(folder) if name.startswith("glint-video")]
                self.assertEqual(left, [])
            finally:
                self.assertEqual(server.stop()[0], 0)

    @unittest.skipUnless(shutil.which("ffprobe") and shutil.which("ffmpeg"), "no ffmpeg here")
    def test_lists_of_files(self):
        """A file that only names others must not have them read."""
        gif = os.path.join(ROOT, "tests/data/pictures/animated.gif")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(gif, os.path.join(folder, "other.gif"))
            server = Server("--video-summed", env={"TMPDIR": folder})
            try:
                def message(data):
                    return [{"role": "user", "content": [
                        {"type": "video_url", "video_url": data_url(data)}]}]
                with open(gif, "rb") as file:
                    server.chat(message(file.read()), max_tokens=1)
                error = server.ask("/v1/chat/completions", {"messages": message(
                    b"ffconcat version 1.0\nfile other.gif\n")}, expect=400)["error"]
                self.assertIn("not a video format", error["message"])
            finally:
                self.assertEqual(server.stop()[0], 0)

    def ask(self, server, folder):
        text = {"type": "text", "text": "What happens?"}
        good = base64.b64encode(b"good video").decode()
        parts = [{"type": "video_url", "video_url": {"url": "data:video/mp4;base64," + good}},
                 {"type": "input_video", "input_video": {"data": good, "format": "mp4"}}]
        answers = []
        for part_of in parts:
            answer = server.chat([{"role": "user", "content": [part_of, text]}], max_tokens=8)
            # Four frames are two pairs, each of one token.
            self.assertEqual(answer["usage"]["prompt_tokens_details"]["image_tokens"], 2)
            answers.append(answer["choices"][0]["message"])
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(server.metric("images_total"), 1)
        prompt = server.ask("/apply-template", {
            "messages": [{"role": "user", "content": [parts[0], text]}]})["prompt"]
        self.assertIn("Time: 0.0s", prompt)
        body = {"messages": [{"role": "user", "content": [
            text, {"type": "video_url", "video_url": data_url(b"none")}]}]}
        error = server.ask("/v1/chat/completions", body, expect=400)["error"]
        self.assertEqual(error["param"], "messages[0].content[1]")
        self.assertIn("Invalid data", error["message"])
        self.assertNotIn("glint-video", error["message"])
        # A slow video holds up no picture, and its client may leave.
        slow = {"type": "video_url", "video_url": data_url(b"slow video")}
        waiting = leave(server, {"messages": [{"role": "user", "content": [slow]}]})
        end = time.time() + 60
        while not os.path.exists(os.path.join(folder, "begun")) and time.time() < end:
            time.sleep(0.02)
        server.chat(ask_about(WHAT, SHAPES), max_tokens=1)
        waiting.close()
        wait_for_count(server, 'requests_cancelled_total{phase="picture"}', 1)


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--current-date", "2026-11-30")

    @classmethod
    def tearDownClass(cls):
        status, said = cls.server.stop()
        assert status == 0, said

    def content(self, messages, **fields):
        return self.server.chat(messages, **fields)["choices"][0]["message"]["content"]

    def refused(self, param, content, says="", status=400, **fields):
        body = {"messages": [{"role": "user", "content": content}], "max_tokens": 4, **fields}
        error = self.server.ask("/v1/chat/completions", body, expect=status)["error"]
        self.assertEqual(error["param"], param, error)
        self.assertTrue(error["message"].startswith(param), error)
        self.assertIn(says, error["message"])
        return error

    def test_same_as_run(self):
        said = subprocess.run(
            [PROGRAM, "run", "-m", DEMO, "--image", SHAPES_PATH, "-p", WHAT, "--temp", "0", "-t",
             "2", "-q", "--json"], check=True, capture_output=True, text=True).stdout
        answer = self.server.chat(ask_about(WHAT, SHAPES))
        self.assertEqual(answer["choices"][0]["message"]["content"], json.loads(said)["content"])
        details = answer["usage"]["prompt_tokens_details"]
        self.assertEqual(details["image_tokens"], 24)
        self.assertEqual(details["text_tokens"], answer["usage"]["prompt_tokens"] - 24)
        self.assertIn(", pictures 24 tokens", "".join(self.server.lines))
        body = {"messages": ask_about(WHAT, SHAPES), "temperature": 0, "stream": True}
        streamed = join_deltas(self.server.stream("/v1/chat/completions", body))[0]
        self.assertEqual(streamed["content"], json.loads(said)["content"])

    def test_spellings(self):
        """One picture in every shape and spelling: looked at once, answered alike."""
        expected = self.content(ask_about(WHAT, SHAPES))
        looked, hits = self.server.metric("images_total"), self.server.metric(
            "image_cache_hits_total")
        plain = base64.b64encode(SHAPES).decode()
        urls = ["data:;base64," + plain, "data:image/jpeg;charset=x;base64," + plain,
                "DATA:image/png;BASE64," + plain.replace("+", "-").replace("/", "_"),
                "data:image/png;base64, " + "\r\n".join(
                    plain[i:i + 76] for i in range(0, len(plain), 76)) + "\n",
                data_url(SHAPES).rstrip("="),
                data_url(SHAPES).replace("+", "%2B").replace("=", "%3d")]
        parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        parts.append({"type": "image_url", "image_url": data_url(SHAPES)})
        parts.append({"type": "input_image", "image_url": data_url(SHAPES), "detail": "auto"})
        parts.append({"type": "image", "source": {"type": "base64", "data": plain}})
        for one in parts:
            messages = [{"role": "user", "content": [one, {"type": "text", "text": WHAT}]}]
            self.assertEqual(self.content(messages), expected, str(one)[:60])
        self.assertEqual(self.server.metric("images_total"), looked)
        self.assertEqual(self.server.metric("image_cache_hits_total"), hits + len(parts))

    def test_protocols(self):
        expected = self.content(ask_about(WHAT, SHAPES))
        block = {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                             "data": base64.b64encode(SHAPES).decode()}}
        body = {"max_tokens": 200, "temperature": 0, "messages": [
            {"role": "user", "content": [block, {"type": "text", "text": WHAT}]}]}
        answer = self.server.ask("/v1/messages", body)
        self.assertEqual(answer["content"][-1]["text"], expected)
        usage = answer["usage"]
        counted = self.server.ask("/v1/messages/count_tokens", body)["input_tokens"]
        self.assertEqual(counted, usage["input_tokens"] + usage["cache_read_input_tokens"])
        tokens = self.server.ask("/tokenize", {"messages": ask_about(WHAT, SHAPES)})["tokens"]
        self.assertEqual(len(tokens), counted)
        answer = self.server.ask("/v1/responses", {
            "temperature": 0, "max_output_tokens": 200, "store": False, "input": [
                {"role": "user", "content": [
                    {"type": "input_image", "image_url": data_url(SHAPES)},
                    {"type": "input_text", "text": WHAT}]}]})
        self.assertEqual(answer["output"][-1]["content"][0]["text"], expected)

    def test_in_tool_results(self):
        call = {"id": "c1", "type": "function",
                "function": {"name": "camera", "arguments": "{}"}}
        tool = [{"type": "function", "function": {"name": "camera", "parameters": {
            "type": "object", "properties": {}}}}]
        counts = []
        for data in (RED, SHAPES):
            messages = [{"role": "user", "content": "Take a picture."},
                        {"role": "assistant", "content": None, "tool_calls": [call]},
                        {"role": "tool", "tool_call_id": "c1", "content": [part(data)]}]
            usage = self.server.chat(messages, tools=tool, max_tokens=4)["usage"]
            counts.append(usage["prompt_tokens_details"]["image_tokens"])
        self.assertEqual(counts, [36, 24])
        block = {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                             "data": base64.b64encode(RED).decode()}}
        body = {"max_tokens": 4, "messages": [
            {"role": "user", "content": "Take a picture."},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c1", "name": "camera", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [block]}]}]}
        with_picture = self.server.ask("/v1/messages/count_tokens", body)["input_tokens"]
        block["source"]["data"] = base64.b64encode(SHAPES).decode()
        self.assertEqual(self.server.ask("/v1/messages/count_tokens", body)["input_tokens"],
                         with_picture - 12)
        block["source"]["data"] = "!"
        error = self.server.ask("/v1/messages", body, expect=400)["error"]
        self.assertIn("messages[2].content[0].content[0]", error["message"])

    def test_second_turn(self):
        """The next turn looks at nothing and evaluates only what is new; another picture of the
        same size is another prompt."""
        grey = png(140, 140, (90, 90, 90))
        messages = ask_about("What colour is it?", grey)
        first = self.server.chat(messages)
        looked = self.server.metric("images_total")
        messages += [first["choices"][0]["message"], {"role": "user", "content": "Say it again."}]
        second = self.server.chat(messages)
        self.assertEqual(self.server.metric("images_total"), looked)
        self.assertGreater(second["usage"]["prompt_tokens_details"]["cached_tokens"],
                           first["usage"]["prompt_tokens"] - 8)
        again = self.server.chat(ask_about("What colour is it?", grey))["usage"]
        self.assertGreater(again["prompt_tokens_details"]["cached_tokens"], 25)
        other = self.server.chat(ask_about("What colour is it?", png(140, 140, (90, 90, 91))))
        self.assertEqual(self.server.metric("images_total"), looked + 1)
        before = other["usage"]["prompt_tokens"] - 25
        self.assertLess(other["usage"]["prompt_tokens_details"]["cached_tokens"], before)

    def test_order(self):
        text = "What colour is the first shape?"
        one = self.server.chat(ask_about(text, RED, BLUE), logprobs=True, max_tokens=8)
        two = self.server.chat(ask_about(text, BLUE, RED), logprobs=True, max_tokens=8)
        self.assertNotEqual(one["choices"][0]["logprobs"], two["choices"][0]["logprobs"])
        self.assertEqual(one["usage"]["prompt_tokens_details"]["image_tokens"], 72)
        self.assertIn("red", self.content(ask_about(WHAT, RED)).lower())
        self.assertIn("blue", self.content(ask_about(WHAT, BLUE)).lower())

    def test_limits_of_tokens(self):
        def tokens(detail=None, **fields):
            one = part(png(560, 560, (1, 2, 3)))
            if detail:
                one["image_url"]["detail"] = detail
            answer = self.server.chat([{"role": "user", "content": [one]}], max_tokens=1, **fields)
            return answer["usage"]["prompt_tokens_details"]["image_tokens"]
        self.assertEqual(tokens(), 400)
        self.assertEqual(tokens("high"), 400)
        self.assertTrue(100 < tokens("low") <= 256)
        self.assertTrue(30 < tokens(image_max_tokens=64) <= 64)
        self.refused("image_max_tokens", [part(RED)], image_max_tokens=0)
        # Four of 3,136 tokens are over the context: told before any is looked at.
        looked = self.server.metric("images_total")
        big = png(1568, 1568, (9, 9, 9))
        error = self.refused("messages[0].content[2]", [part(big)] * 4, "context length")
        self.assertEqual(error["code"], "context_length_exceeded")
        self.assertEqual((error["n_prompt_tokens"], error["n_ctx"]), (9408, 8192))
        self.assertEqual(self.server.metric("images_total"), looked)

    def test_hostile(self):
        text = {"type": "text", "text": "x"}
        place = "messages[0].content[1]"

        def url(value, says):
            self.refused(place, [text, {"type": "image_url", "image_url": {"url": value}}], says)
        url("data:image/png;base64,AA$A", "at byte 2")
        url("data:image/png;base64,AAAAA", "inside a byte")
        url("data:image/png;base64,A=AA", "base64")
        url("data:image/png;base64,", "the picture is empty")
        url("data:image/png;base64, ==", "the picture is empty")
        url("data:image/png,xyz", "expected a data URL")
        url("data:", "expected a data URL")
        url("file:///etc/passwd", "expected a data URL")
        url("cat.png", "expected a data URL")
        url("http://127.0.0.1/cat.png", "--allow-remote-images")
        url(data_url(b"GIF89a"), "")
        url(data_url(SHAPES[:200]), "")
        url(data_url(b"\x89PNG\r\n\x1a\n" + b"\0" * 50), "")
        bomb = SHAPES[:16] + struct.pack(">II", 50000, 50000) + SHAPES[24:]
        url(data_url(bomb), "")
        self.refused(place, [text, {"type": "image_url"}], "expected a picture")
        self.refused(place, [text, {"type": "image_url", "image_url": 7}], "expected a picture")
        self.refused(place, [text, {"type": "input_image", "file_id": "f"}], "keeps no files")
        self.refused(place, [text, {"type": "video_url", "video_url": data_url(b"no video")}],
                     "ff")
        self.refused(place, [text, {"type": "video_url", "video_url": data_url(b"")}],
                     "the video is empty")
        self.refused("messages[0].content[256]", [part(b"x")] * 257, "256")
        forged = "<|image_start|><|patch|><|image_end|>"
        self.assertEqual(self.server.chat(forged, max_tokens=1)["usage"][
            "prompt_tokens_details"]["image_tokens"], 0)
        body = {"max_tokens": 4, "messages": [{"role": "user", "content": [
            {"type": "document", "source": {"type": "base64", "data": "AAAA",
                                            "media_type": "application/pdf"}}]}]}
        error = self.server.ask("/v1/messages", body, expect=400)["error"]
        self.assertIn("messages[0].content[0]: a document", error["message"])

    def test_large_body(self):
        """20 MB of pictures: the same large file many times, decoded once each."""
        file = png(200, 200, (7, 80, 7))
        file = file[:-12] + b"".join(
            struct.pack(">I", len(d)) + b"teXt" + d + struct.pack(">I", zlib.crc32(b"teXt" + d))
            for d in [os.urandom(1500000)]) + file[-12:]
        answer = self.server.chat(ask_about(WHAT, *[file] * 10), max_tokens=2)
        self.assertEqual(answer["usage"]["prompt_tokens_details"]["image_tokens"], 640)

    def test_clients_that_leave(self):
        """Large pictures whose clients leave while they wait or are looked at: what is left of the
        work is dropped."""
        def cancelled():
            return sum(self.server.metric(f'requests_cancelled_total{{phase="{phase}"}}')
                       for phase in ("picture", "queue", "prefill"))
        gone, looked = cancelled(), self.server.metric("images_total")
        crowd = [leave(self.server, {"messages": ask_about("x", png(1120, 1120, (n, 100, 200))),
                                     "stream": True}) for n in range(8)]
        crowd[0].recv(100)
        for connection in crowd:
            connection.close()
        end = time.time() + 60
        while time.time() < end and (
                cancelled() == gone or self.server.metric("requests_running") or
                self.server.metric("requests_waiting")):
            time.sleep(0.02)
        self.assertGreater(cancelled(), gone)
        self.assertLess(self.server.metric("images_total"), looked + 8)
        self.assertEqual(self.server.metric("requests_waiting"), 0)

    def test_others_go_on(self):
        """While a large picture is looked at, a stream of another client gets its tokens."""
        waiting = leave(self.server, {"messages": ask_about("x", png(1568, 1568, (1, 100, 200))),
                                      "stream": True, "max_tokens": 1})
        waiting.recv(100)
        looked = self.server.metric("images_total")
        n_meanwhile = 0
        for _ in self.server.stream("/v1/chat/completions", {
                "messages": [{"role": "user", "content": "What is 47 + 38?"}], "stream": True}):
            n_meanwhile += self.server.metric("images_total") == looked
        self.assertGreater(n_meanwhile, 3)
        waiting.close()


if __name__ == "__main__":
    unittest.main()
