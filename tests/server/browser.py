# SPDX-License-Identifier: Apache-2.0
"""browser.py: a headless Chromium, driven through the DevTools protocol over a pipe.

Python's standard library only. The browser reads commands from its descriptor 3 and writes answers
and events to 4, each a JSON object that ends with a zero byte.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
         "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-default-apps", "--disable-extensions",
         "--disable-sync", "--mute-audio", "--hide-scrollbars", "--force-color-profile=srgb",
         "--font-render-hinting=none")
WAIT_S = 60  # for a page on a busy machine; what is wanted comes in a fraction of a second

KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), "ArrowDown": (40, "")}


def find():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One browser with a profile of its own."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read, self.commands = os.pipe()
        self.answers, write = os.pipe()
        # The shell puts the pipes where the browser looks for them.
        words = f'exec "$0" "$@" 3<&{read} 4>&{write}'
        self.log = open(os.path.join(self.folder.name, "log"), "w+")
        self.process = subprocess.Popen(
            ["sh", "-c", words, find(), *FLAGS, "--user-data-dir=" + self.folder.name,
             "about:blank"], pass_fds=(read, write), stdout=self.log, stderr=self.log,
            stdin=subprocess.DEVNULL)
        os.close(read)
        os.close(write)
        self.buffer = b""
        self.n_sent = 0
        self.events = []
        self.send("Browser.getVersion")

    def close(self):
        try:
            self.send("Browser.close")
        except (AssertionError, OSError):
            self.process.kill()
        self.process.wait(timeout=WAIT_S)
        os.close(self.commands)
        os.close(self.answers)
        self.log.close()
        self.folder.cleanup()

    def read(self, end):
        """The next message, or None at the time `end`."""
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                return None
            block = os.read(self.answers, 1 << 20)
            if not block:
                self.log.seek(0)
                raise AssertionError("the browser ended: " + self.log.read()[-2000:])
            self.buffer += block
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, session=None, **params):
        """One command; its result."""
        self.n_sent += 1
        message = {"id": self.n_sent, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + WAIT_S
        while True:
            answer = self.read(end)
            assert answer is not None, f"{method}: no answer from the browser"
            if answer.get("id") == self.n_sent:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)


class Page:
    """One tab with storage of its own. Keeps what went wrong in it, and the addresses it asked."""

    def __init__(self, browser, width=1280, height=800, scale=1):
        self.browser = browser
        self.context = browser.send("Target.createBrowserContext")["browserContextId"]
        target = browser.send("Target.createTarget", url="about:blank",
                              browserContextId=self.context)["targetId"]
        self.session = browser.send("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        self.addresses, self.complaints = [], []
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.send(domain + ".enable")
        self.size(width, height, scale)

    def close(self):
        self.browser.send("Target.disposeBrowserContext", browserContextId=self.context)

    def send(self, method, **params):
        result = self.browser.send(method, self.session, **params)
        self.look()
        return result

    def look(self):
        """Takes in the events that have come."""
        for event in self.browser.events:
            params = event.get("params", {})
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Network.requestWillBeSent":
                self.addresses.append(params["request"]["url"])
            elif event["method"] == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.complaints.append(details.get("exception", {}).get("description",
                                                                        details["text"]))
            elif event["method"] == "Runtime.consoleAPICalled":
                self.complaints.append(f"console.{params['type']}: {params['args']}")
            elif event["method"] == "Log.entryAdded":
                entry = params["entry"]
                self.complaints.append(f"{entry['text']} {entry.get('url', '')}")
        self.browser.events.clear()

    def size(self, width, height, scale=1):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=False)

    def colours(self, name):
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": name}])

    def go(self, url):
        self.send("Page.navigate", url=url)
        self.until("document.documentElement?.dataset.ready === 'yes'")

    def reload(self):
        self.run("document.documentElement.dataset.ready = 'no'")
        self.send("Page.reload")
        self.until("document.documentElement?.dataset.ready === 'yes'")

    def run(self, script):
        """The value of an expression, awaited."""
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True,
                           returnByValue=True, userGesture=True)
        details = result.get("exceptionDetails")
        if details:
            raise AssertionError(script + ": " +
                                 details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def until(self, script):
        """Waits until an expression is true."""
        end = time.monotonic() + WAIT_S
        while True:
            try:
                if self.run(f"Boolean({script})"):
                    return
            except AssertionError as error:  # the page is going away
                if "context" not in str(error) and "navigat" not in str(error):
                    raise
            if time.monotonic() > end:
                raise AssertionError(f"never true: {script}\n{self.complaints}\n" + self.text())
            time.sleep(0.02)

    def text(self):
        return self.run("document.body.innerText")

    def click(self, selector):
        """A press of the mouse in the middle of what is found; it must be there and in sight."""
        at = self.run(f"""(() => {{
            const node = document.querySelector({json.dumps(selector)});
            node.scrollIntoView({{block: "nearest"}});
            const r = node.getBoundingClientRect();
            const x = r.x + r.width / 2, y = r.y + r.height / 2;
            const hit = document.elementFromPoint(x, y);
            return {{x, y, hit: node.contains(hit), what: hit?.outerHTML?.slice(0, 200)}};
        }})()""")
        assert at["hit"], f"{selector} is covered by {at['what']}"
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=at["x"], y=at["y"], button="left",
                      clickCount=1)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def press(self, key, shift=False):
        code, text = KEYS[key]
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code,
                  "modifiers": 8 if shift else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def choose_files(self, selector, paths):
        root = self.send("DOM.getDocument")["root"]["nodeId"]
        node = self.send("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.send("DOM.setFileInputFiles", nodeId=node, files=paths)

    def slow_down(self, bytes_per_second):
        """So that an answer can be caught while it is coming; 0: as fast as it goes."""
        rate = bytes_per_second or -1
        self.send("Network.emulateNetworkConditions", offline=False, latency=0,
                  downloadThroughput=rate, uploadThroughput=-1)

    def picture(self, path):
        data = self.send("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))


if __name__ == "__main__":
    if not find():
        sys.exit("No Chromium found (Debian: chromium-headless-shell): "
                 "the test of the chat page is left out.")
