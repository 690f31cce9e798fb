#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_page.py: the chat page as a person uses it, in headless Chromium, with the demo model.

Each test has a tab of its own, with nothing in its storage. After each, nothing may have been
written to the console, and no address but the server's asked. Left out (status 77) where there is
no Chromium, unless GLINT_NEEDS_BROWSER is set.
"""
import base64
import contextlib
import json
import os
import re
import signal
import socket
import sys
import threading
import time
import unittest

import browser as chromium
from serving import ROOT, Server, serving

GREEDY = ("--temp", "0")
SLOW = 4000  # bytes in a second: about twelve tokens
SUM = "What is 47 + 38?"
PICTURE = os.path.join(ROOT, "tools/demo/shapes.png")
WEATHER = os.path.join(ROOT, "tools/demo/weather.json")
LAST = ".message:last-child "


def quoted(text):
    return json.dumps(text)


class Wire:
    """Between the browser and a server: passes on what comes, slowly; can be cut."""

    def __init__(self, port):
        self.target = port
        self.ends = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.slow = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                near.close()
                continue
            self.ends += [near, far]
            threading.Thread(target=self.pump, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self.pump, args=(far, near, True), daemon=True).start()

    def pump(self, source, sink, answers):
        with contextlib.suppress(OSError):
            while True:
                slow = answers and self.slow
                data = source.recv(400 if slow else 65536)
                if not data:
                    break
                sink.sendall(data)
                time.sleep(0.1 if slow else 0)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class PageCase(unittest.TestCase):
    browser = server = None

    @classmethod
    def setUpClass(cls):
        if not PageCase.browser:
            PageCase.server = Server(*GREEDY)
            PageCase.browser = chromium.Browser()

    def open_page(self, width=1280, height=800, server=None, ready=True):
        server = server or self.server
        self.expected = []  # texts that complaints may hold
        self.page = chromium.Page(self.browser, width, height)
        self.url = f"http://127.0.0.1:{server.port}/"
        self.page.go(self.url)
        if ready:
            self.connected()
        return self.page

    def connected(self):
        self.page.until("document.getElementById('model').textContent === 'glimmer-mini'")

    def tearDown(self):
        page = self.page
        page.run("1")  # the last events
        bad = [text for text in page.complaints
               if not any(some in text for some in self.expected)]
        others = [url for url in page.addresses
                  if not url.startswith((self.url, "data:", "blob:" + self.url, "about:"))]
        page.close()
        self.assertEqual(bad, [])
        self.assertEqual(others, [])

    # ---- what a person does and sees ----------------------------------------------------------

    def write(self, text):
        self.page.run("document.getElementById('message').focus()")
        self.page.type(text)

    def ask(self, text, n_answers=1):
        self.write(text)
        self.page.press("Enter")
        self.finished(n_answers)

    def finished(self, n_answers=1):
        self.page.until("document.getElementById('stop').hidden && document.querySelectorAll("
                        f"'.message.assistant .actions').length === {n_answers}")

    def see(self, selector):
        return self.page.run(f"document.querySelector({quoted(selector)})?.textContent")

    def answer(self):
        return self.see(LAST + "> .prose")

    def until_text(self, selector, text):
        self.page.until(f"(document.querySelector({quoted(selector)})?.textContent ?? '')"
                        f".includes({quoted(text)})")

    def catch(self, text, selector):
        """Asks, and returns while the answer is coming and what is sought is there."""
        self.page.slow_down(SLOW)
        self.write(text)
        self.page.press("Enter")
        self.page.until(f"document.querySelector({quoted(selector)})")

    def no_overflow(self, where):
        width = self.page.run("document.documentElement.scrollWidth - innerWidth")
        self.assertLessEqual(width, 0, where)

    def set_tools(self):
        page = self.page
        page.click("#open-settings")
        page.run("document.getElementById('set-tools').focus()")
        with open(WEATHER, encoding="utf-8") as file:
            page.type(file.read())
        page.click("#settings .primary")


class Talk(PageCase):
    def test_ask_and_stream(self):
        page = self.open_page()
        expected = self.server.chat(SUM, max_tokens=-1)["choices"][0]["message"]
        self.catch(SUM, ".reasoning[open]")
        self.assertTrue(page.run("document.getElementById('send').hidden"))
        self.assertRegex(self.see(".reasoning summary"), r"^Thinking… \d+ s$")
        early = self.see(".reasoning .prose")
        page.until("document.querySelector('.message.assistant > .prose')")
        self.assertFalse(page.run("document.querySelector('.reasoning').open"))
        page.slow_down(0)
        self.finished()
        self.assertEqual(self.answer().strip(), expected["content"].strip())
        self.assertRegex(self.see(".reasoning summary"), r"^Thought for \d+(\.\d)? s$")
        page.click(".reasoning summary")
        page.until("document.querySelector('.reasoning').open")
        whole = self.see(".reasoning .prose")
        self.assertTrue(len(early) < len(whole) and whole.startswith(early[:10]), (early, whole))
        self.assertRegex(self.see(LAST + ".stats"),
                         r"^\d+ tokens · [\d.]+ tok/s · prompt \d+, \d+ cached · first after ")
        self.assertRegex(self.see("#context"), r"^\d+ of 8,192 tokens used$")
        self.assertIn(expected["content"].strip(), page.run(
            "document.getElementById('announcer').textContent"))
        self.assertIn(SUM, self.see("#chat-list"))
        self.ask("What is 12 + 30?", 2)
        self.assertIn("42", self.answer())
        cached = int(re.search(r"prompt \d+, (\d+) cached", self.see(LAST + ".stats")).group(1))
        self.assertGreater(cached, 50)

    def test_stop_and_go_on(self):
        page = self.open_page()
        question = "Name four fruits."
        whole = self.server.chat(question, max_tokens=-1)["choices"][0]["message"]["content"]
        self.catch(question, ".message.assistant > .prose")
        page.press("Escape")
        page.slow_down(0)
        self.finished()
        part = self.answer().strip()
        self.assertTrue(whole.startswith(part) and len(part) < len(whole), (part, whole))
        self.assertEqual(self.see(LAST + ".note"), "Stopped.")
        page.click(LAST + ".actions .chip")
        page.until("!document.querySelector('.note')")
        self.finished()
        self.assertEqual(self.see(LAST + ".note"), None)
        self.assertTrue(self.answer().startswith(part))
        self.assertGreater(len(self.answer().strip()), len(part))

    def test_edit_retry_undo(self):
        page = self.open_page()
        self.ask(SUM)
        first = self.answer()
        stats = self.see(LAST + ".stats")
        page.click(LAST + "[aria-label=Retry]")
        page.until(f"(document.querySelector('.stats') ?? {{}}).textContent !== {quoted(stats)}")
        self.finished()
        self.assertEqual(self.answer(), first)  # greedy
        page.click(".message.user [aria-label='Edit message']")
        page.run("document.querySelector('.editor textarea').select()")
        page.type("What is 20 + 22?")
        page.press("Enter")
        self.until_text(LAST, "42")
        self.finished()
        self.assertEqual(page.run("document.querySelectorAll('.message').length"), 2)
        page.click(".toast button")
        self.until_text(LAST, "85")
        page.reload()
        self.until_text(LAST, "85")
        self.assertEqual(self.see(".bubble"), SUM)

    def test_tool(self):
        page = self.open_page()
        self.set_tools()
        self.assertEqual(self.see("#tools-chip"), "1 tool")
        self.ask("What is the weather in Oslo?")
        self.assertEqual(self.see(".call h3"), "get_weather")
        self.assertEqual(self.see(".call dl"), "cityOslo")
        page.run("document.querySelector('.call textarea').focus()")
        page.type('{"temperature": 7, "sky": "cloudy"}')
        page.click(".calls .primary")
        self.finished(2)
        self.assertIn("7 degrees", self.answer())
        page.reload()
        self.finished(2)
        self.assertEqual(self.see(".call .result"), '{"temperature": 7, "sky": "cloudy"}')

    def test_bad_tools_are_told(self):
        page = self.open_page()
        page.click("#open-settings")
        page.run("document.getElementById('set-tools').focus()")
        page.type('[{"name": 5}]')
        page.click("#settings .primary")
        self.assertTrue(page.run("document.getElementById('settings').open"))
        self.assertIn('tool 1: expected an object with "name"', page.run(
            "document.getElementById('set-tools').validationMessage"))

    def test_pictures(self):
        page = self.open_page()
        page.choose_files("#picture-file", [PICTURE])
        page.until("document.querySelectorAll('#pictures img').length === 1")
        with open(PICTURE, "rb") as file:
            url = "data:image/png;base64," + base64.b64encode(file.read()).decode()
        page.run(f"""(async () => {{
            const blob = await (await fetch({quoted(self.url)} + "favicon.svg")).blob();
            const bytes = Uint8Array.from(atob({quoted(url.split(",")[1])}), (c) =>
                c.charCodeAt(0));
            const carry = (file) => {{
                const data = new DataTransfer();
                data.items.add(file);
                return data;
            }};
            const picture = new File([bytes], "dropped.png", {{type: "image/png"}});
            document.dispatchEvent(new ClipboardEvent("paste", {{clipboardData: carry(picture)}}));
            document.dispatchEvent(new DragEvent("drop", {{dataTransfer: carry(picture)}}));
            document.dispatchEvent(new DragEvent("drop", {{dataTransfer: carry(
                new File([blob], "icon.svg", {{type: "image/svg+xml"}}))}}));
        }})()""")
        page.until("document.querySelectorAll('#pictures img').length === 3")
        self.until_text(".toast", "icon.svg: found image/svg+xml, expected a PNG")
        for _ in range(2):
            page.click("#pictures [aria-label^=Remove]")
        self.assertEqual(page.run("document.querySelector('#pictures img').src"), url)
        self.ask("Describe the picture.")
        self.assertTrue(page.run("document.querySelector('.message img').naturalWidth > 50"))
        asked = {"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": url}},
            {"type": "text", "text": "Describe the picture."}]}
        answer = self.server.chat([asked], max_tokens=-1)["choices"][0]["message"]["content"]
        self.assertEqual(self.answer().strip(), answer.strip())
        self.assertIn("triangle", answer)

    def test_error_is_told(self):
        page = self.open_page()
        self.expected = ["status of 400"]
        self.ask("word " * 9000)
        self.assertIn("over the context length of 8192 tokens", self.see(LAST + ".error"))
        page.click(LAST + ".actions .chip")
        self.finished()
        self.assertIn("over the context length", self.see(LAST + ".error"))

    def test_reload_in_an_answer(self):
        page = self.open_page()
        self.catch("Name four fruits.", ".message.assistant > .prose")
        part = self.answer()
        page.reload()
        page.slow_down(0)
        self.connected()
        self.finished()
        self.assertTrue(self.answer().startswith(part.strip()), (part, self.answer()))
        self.assertIn("Interrupted", self.see(LAST + ".note"))
        page.click(LAST + ".actions .chip")
        page.until("!document.querySelector('.note')")
        self.finished()

    def test_narrow(self):
        page = self.open_page(360, 740)
        self.no_overflow("empty")
        self.write("Hello.\n" + "x" * 200)
        page.click("#send")
        self.finished()
        self.no_overflow("conversation")
        page.click("#show-sidebar")
        self.no_overflow("list")
        page.click("#open-settings")
        self.no_overflow("settings")
        page.press("Escape")
        page.click("#chat-menu")
        self.no_overflow("menu")
        page.press("Escape")
        page.click("#show-sidebar")
        page.click("#new-chat")
        page.until("document.querySelectorAll('.message').length === 0")
        page.click("#show-sidebar")
        page.click("#chat-list button")
        page.until("document.querySelectorAll('.message').length === 2")

    def test_names_and_keys(self):
        """Everything that can be used has a name, and Tab gets there in the order of reading."""
        page = self.open_page()
        self.set_tools()
        self.ask("What is the weather in Oslo?")
        nodes = page.send("Accessibility.getFullAXTree")["nodes"]
        roles = ("button", "textbox", "searchbox", "combobox", "link", "image", "navigation",
                 "form", "dialog", "radio", "spinbutton")
        nameless = [node for node in nodes if node.get("role", {}).get("value") in roles and
                    not node["ignored"] and not node.get("name", {}).get("value")]
        self.assertEqual(nameless, [])
        found = {node.get("role", {}).get("value") for node in nodes}
        self.assertLessEqual({"navigation", "main", "banner", "article", "status"}, found)
        page.run("document.querySelector('a, button, input, textarea').focus()")
        self.assertEqual(self.see(":focus"), "Skip to the message field")
        visited = []
        for _ in range(40):
            page.press("Tab")
            visited.append(page.run("""(() => {
                const node = document.activeElement;
                const ring = getComputedStyle(node);
                return [node.id || node.ariaLabel || node.innerText, ring.outlineStyle !== "none" ||
                    Boolean(node.closest("#composer"))];
            })()"""))
            if visited[-1][0] == "send":
                break
        names = [name for name, _ in visited]
        wanted = ["hide-sidebar", "new-chat", "search",
                  "What is the weather in Oslo?", "open-settings", "chat-menu", "Copy message",
                  "result-1-0", "Send the result", "message", "add-picture", "effort", "send"]
        self.assertEqual([name for name in names if name in wanted], wanted)
        self.assertEqual([name for name, ringed in visited if not ringed], [])


class Keeping(PageCase):
    def test_rename_delete_search_export(self):
        page = self.open_page()
        self.ask("Hello.")
        page.click("#chat-menu")
        page.press("Enter")  # the first entry
        page.type("First talk")
        page.press("Enter")
        self.until_text("#title", "First talk")
        page.click("#new-chat")
        self.ask(SUM)
        page.run("document.getElementById('search').focus()")
        page.type("first")
        self.until_text("#chat-list", "First talk")
        self.assertNotIn(SUM, self.see("#chat-list"))
        page.run("document.getElementById('search').select()")
        page.type(" ")
        page.click("#chat-menu")
        page.click("#menu .danger")
        page.until("document.querySelectorAll('.message').length === 0")
        self.assertNotIn(SUM, self.see("#chat-list"))
        page.click(".toast button")
        page.until("document.querySelectorAll('.message').length === 2")
        same = page.run("""(async () => {
            const {readJson, toJson, toMarkdown} = await import("/page/transfer.js");
            const {store} = await import("/page/store.js");
            const all = [];
            for (const head of await store.chats())
                all.push({head, messages: await store.messages(head.id)});
            const text = toJson(all), again = readJson(text);
            again.forEach(({head, messages}, i) => {
                head.id = all[i].head.id;
                messages.forEach((message) => { message.chat = head.id; });
            });
            return {texts: [text, toJson(again)], n: all.length, markdown: toMarkdown(all.find(
                ({head}) => head.title === "First talk"))};
        })()""")
        self.assertEqual(*map(json.loads, same["texts"]))
        self.assertEqual(same["n"], 2)
        self.assertIn("# First talk\n\n## You\n\nHello.\n\n## Answer", same["markdown"])

    def test_foreign_files(self):
        page = self.open_page()
        bad = page.run("""(async () => {
            const {readJson} = await import("/page/transfer.js");
            const said = [];
            for (const text of ["", "null", "[]", "{}", '{"format": "glint-conversations"}',
                    '{"format": "glint-conversations", "conversations": [1]}']) {
                try {
                    readJson(text);
                    said.push("taken: " + text);
                } catch (error) {
                    said.push(error instanceof TypeError ? "failed: " + text : "told");
                }
            }
            const [{messages}] = readJson(JSON.stringify({format: "glint-conversations",
                conversations: [{messages: [null, 5, {role: "system"}, {role: "user", text: 5,
                    pictures: [{url: "https://example.org/x.png"}, {url: "javascript:1"}, null]},
                    {role: "assistant", calls: [null, 3, {name: {}}], stats: 7,
                        error: 1}]}]}));
            return {said, messages: messages.map(({text, pictures, calls}) =>
                [text, pictures?.length, calls?.length])};
        })()""")
        self.assertEqual(set(bad["said"]), {"told"})
        self.assertEqual(bad["messages"], [["", 0, None], ["", None, 1]])

    def test_long_conversation(self):
        page = self.open_page()
        took = page.run("""(async () => {
            const {newHead} = await import("/page/conversation.js");
            const {store} = await import("/page/store.js");
            const head = newHead({title: "Long"});
            const text = "A line with `code` and **weight**.\\n\\n- one\\n- two\\n\\n" +
                "```c\\nint x;\\n```\\n";
            const messages = Array.from({length: 600}, (_, n) => n % 2 === 0
                ? {chat: head.id, n, role: "user", text: "Question " + n, pictures: [], time: n}
                : {chat: head.id, n, role: "assistant", text: text.repeat(4), reasoning: text,
                    reasoningMs: 9, calls: [], finish: "stop", error: null, stats: null, time: n});
            await store.put(head, messages);
            return head.id;
        })()""")
        page.reload()
        before = time.monotonic()
        page.run(f"location.hash = {quoted(took)}")
        page.until("document.querySelectorAll('.message').length === 600")
        self.assertLess(time.monotonic() - before, 10)
        # How long the page is busy with a key and with a step of an answer.
        self.write("x")
        busy = page.run("""(async () => {
            const field = document.getElementById("message");
            const times = [];
            for (let i = 0; i < 20; i++) {
                const from = performance.now();
                field.value += "y";
                field.dispatchEvent(new Event("input"));
                await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                times.push(performance.now() - from);
            }
            return times.sort((a, b) => a - b)[10];
        })()""")
        self.assertLess(busy, 200)

    def test_server_ends_and_returns(self):
        server = Server(*GREEDY)
        wire = Wire(server.port)
        page = self.open_page(server=wire)
        self.expected = ["net::ERR_", "status of 503"]
        wire.slow = True
        self.write("Name four fruits.")
        page.press("Enter")
        page.until("document.querySelector('.message.assistant > .prose')")
        server.stop(signal.SIGKILL)
        wire.cut()
        wire.slow = False
        self.finished()
        self.assertIn("connection to the server was lost", self.see(LAST + ".error"))
        part = self.answer().strip()
        self.assertNotEqual(part, "")
        page.until("!document.getElementById('banner').hidden")
        again = Server(*GREEDY)
        wire.target = again.port
        page.until("document.getElementById('banner').hidden")
        page.run("[...document.querySelectorAll('.chip')].find((chip) => "
                 "chip.innerText === 'Go on').click()")
        page.until("!document.querySelector('.error')")
        self.finished()
        self.assertTrue(self.answer().startswith(part))
        wire.listener.close()
        self.assertEqual(again.stop()[0], 0)

    def test_key(self):
        with serving(*GREEDY, "--api-key", "secret") as server:
            page = self.open_page(server=server, ready=False)
            self.expected = ["status of 401"]
            page.until("document.getElementById('key-dialog').open")
            page.type("wrong")
            page.press("Enter")
            page.until("document.getElementById('key-dialog').open && "
                       "document.getElementById('key').value === ''")
            page.type("secret")
            page.press("Enter")
            page.until("document.getElementById('model').textContent === 'glimmer-mini'")
            self.ask("Hello.")
            self.assertNotEqual(self.answer(), None)
            self.assertFalse(any("secret" in url for url in page.addresses))

    def test_colours(self):
        page = self.open_page()
        ground = "getComputedStyle(document.body).backgroundColor"
        page.colours("light")
        light = page.run(ground)
        page.colours("dark")
        dark = page.run(ground)
        self.assertNotEqual(light, dark)
        page.click("#open-settings")
        page.click("#settings input[value=light]")
        self.assertEqual(page.run(ground), light)
        page.reload()
        self.assertEqual(page.run(ground), light)


class Markdown(PageCase):
    CASES = (
        ("plain *em* **strong** ***both*** ~~gone~~",
         "<p>plain <em>em</em> <strong>strong</strong> <strong><em>both</em></strong> "
         "<s>gone</s></p>"),
        ("a_b_c 2*3*4 and ** and `x*y*`",
         "<p>a_b_c 2<em>3</em>4 and ** and <code>x*y*</code></p>"),
        ("# One\n### Three #\ntext", "<h3>One</h3><h5>Three</h5><p>text</p>"),
        ("one\ntwo\n\nthree", "<p>one<br>two</p><p>three</p>"),
        ("- a\n- b\n  - c\n\n  d\n- e",
         "<ul><li><p>a</p></li><li><p>b</p><ul><li><p>c</p></li></ul><p>d</p></li>"
         "<li><p>e</p></li></ul>"),
        ("3. c\n4. d\n\nend", '<ol start="3"><li><p>c</p></li><li><p>d</p></li></ol><p>end</p>'),
        ("> quote\n> # head\nlazy", None),
        ("1984. was a year", '<ol start="1984"><li><p>was a year</p></li></ol>'),
        ("in\n1984. was", "<p>in<br>1984. was</p>"),
        ("[x](https://example.org/a_(b) \"t\")",
         '<p><a href="https://example.org/a_(b)" rel="noopener noreferrer" target="_blank">x</a>'
         "</p>"),
        ("see https://example.org/a_b.",
         '<p>see <a href="https://example.org/a_b" rel="noopener noreferrer" target="_blank">'
         "https://example.org/a_b</a>.</p>"),
        ("[x](javascript:alert(1)) ![p](data:image/png;base64,AA) [y](/z)",
         "<p>[x](javascript:alert(1)) ![p](data:image/png;base64,AA) [y](/z)</p>"),
        ("<img src=x onerror=alert(1)> &amp; <b>b</b>",
         "<p>&lt;img src=x onerror=alert(1)&gt; &amp;amp; &lt;b&gt;b&lt;/b&gt;</p>"),
        ("\\*not\\* \\<", "<p>*not* &lt;</p>"),
        ("---", "<hr>"),
        ("", ""),
    )
    DRAW = """(async () => {
        const {showMarkdown} = await import("/page/markdown.js");
        const draw = (text, root = document.createElement("div")) => {
            showMarkdown(root, text);
            return root;
        };
        %s
    })()"""

    def test_cases(self):
        page = self.open_page()
        found = page.run(self.DRAW % f"return {quoted([text for text, _ in self.CASES])}"
                         ".map((text) => draw(text).innerHTML);")
        for (text, wanted), html in zip(self.CASES, found):
            if wanted is not None:
                self.assertEqual(html, wanted, text)

    def test_blocks(self):
        page = self.open_page()
        found = page.run(self.DRAW % r"""
            const code = draw("```c\nint x;\n<b>\n```\nafter\n~~~\n  y");
            const table = draw("|a|b|\n|:-|-:|\n|`1|2`|*x*|y|\n|3|\n\n|no|table|");
            const task = draw("- [x] done\n- [ ] not");
            return [code.querySelector("figcaption span").textContent,
                [...code.querySelectorAll("pre code")].map((node) => node.textContent),
                [...table.querySelectorAll("tr")].map((row) => [...row.children].map((cell) =>
                    cell.textContent)), table.querySelectorAll("td")[1].className,
                table.lastChild.textContent,
                [...task.querySelectorAll("input")].map((box) => box.checked)];
        """)
        self.assertEqual(found, ["c", ["int x;\n<b>", "  y"],
                                 [["a", "b"], ["1|2", "x"], ["3", ""]], "to-end", "|no|table|",
                                 [True, False]])

    def test_growing_is_the_same(self):
        """A text that grows letter by letter ends as one that is shown at once, and what is
        finished in it is not drawn again."""
        page = self.open_page()
        text = ("# T\n\nA **b** `c` [d](https://e.org)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
                "1. x\n   - y\n\n```py\nz = 1\n```\n\n> q\n\nend")
        same = page.run(self.DRAW % f"""
            const text = {quoted(text)};
            const root = document.createElement("div");
            let first = null;
            for (let n = 1; n <= text.length; n++) {{
                draw(text.slice(0, n), root);
                first ??= n > 5 ? root.firstChild : null;
            }}
            return [root.innerHTML === draw(text).innerHTML, first === root.firstChild];
        """)
        self.assertEqual(same, [True, True])

    def test_hostile_text_takes_no_time(self):
        page = self.open_page()
        took = page.run(self.DRAW % r"""
            const texts = ["[", "![", "*", "**a ", "_a ", "`", "``a", "~~", "<", "> ", "- ", "1. ",
                "|", "|-", "| a |\n|-|\n", "#", "http://", "(", "\\", " ", "``` ", "[a](", "a\n",
                "*a_b", "- a\n  ", "***", "- - * "];
            return texts.map((text) => {
                const from = performance.now();
                draw(text.repeat(30000 / text.length));
                return [text, performance.now() - from];
            });
        """)
        self.assertEqual([row for row in took if row[1] > 2000], [])


def main():
    if not chromium.find():
        if os.environ.get("GLINT_NEEDS_BROWSER"):
            sys.exit("no Chromium found, and GLINT_NEEDS_BROWSER is set (tools/setup.sh ci)")
        print("No Chromium found: the chat page was not tried (tools/setup.sh ci)")
        sys.exit(77)
    # One broken script breaks everything: the first failure is told at once.
    program = unittest.main(exit=False, failfast=True)
    if PageCase.browser:
        PageCase.browser.close()
        assert PageCase.server.stop()[0] == 0
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main()
