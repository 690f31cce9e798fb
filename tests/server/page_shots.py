#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page_shots.py: pictures of the chat page, to be looked at after a change of its looks.

    tests/server/page_shots.py FOLDER [NAME...]

Serves the demo model, opens the page in headless Chromium at two sizes and in both sets of colours,
and writes FOLDER/NAME-WIDTH-COLOURS.png. What is shown was partly said by the demo model just now,
partly put there by this script.
"""
import argparse
import json
import os

from browser import Browser, Page
from serving import ROOT, serving

SIZES = ((1280, 800), (360, 740))
PROSE = """\
A **hash map** finds a value by its key in about constant time: it computes a number from\
 the key and looks in the bucket of that number. See [the overview](https://example.org/maps).

### How the common ones differ

| Structure | Find | Insert | Ordered |
|:--|--:|--:|:-:|
| Hash map | O(1) | O(1) | no |
| Balanced tree | O(log n) | O(log n) | yes |
| Sorted array | O(log n) | O(n) | yes |

A small one in Python, with `get` and `set`:

```python
class Map:
    def __init__(self, n_buckets=64):
        self.buckets = [[] for _ in range(n_buckets)]

    def set(self, key, value):
        bucket = self.buckets[hash(key) % len(self.buckets)]
        bucket[:] = [(k, v) for k, v in bucket if k != key] + [(key, value)]
```

1. Keys must not change while they are in the map.
2. When buckets get long, make more of them:
   - double their number,
   - and put every pair in again.

> Measure before you choose: for a dozen keys a plain list is faster."""


def answer(text, **more):
    return {"role": "assistant", "text": text, "reasoning": "", "reasoningMs": 0, "calls": [],
            "finish": "stop", "error": None, "stats": {"predicted_n": 231, "prompt_n": 180,
            "predicted_per_second": 42.7, "cache_n": 1024, "first_ms": 412, "total_n": 1435},
            **more}


def user(text):
    return {"role": "user", "text": text, "pictures": []}


CONVERSATIONS = {
    "talk": [user("How does a hash map work, and when should I not use one?"),
             answer(PROSE, reasoning="The user asks about hash maps. Compare **three** structures.",
                    reasoningMs=3200)],
    "thinking": [user("Is 1,001 a prime?"),
                 answer("No: 1,001 = 7 × 11 × 13.", reasoningMs=12400, reasoning="Check small "
                        "primes.\n\n- 3: the digits sum to 2, no\n- 7: 7 × 143 = 1,001, yes\n\nAnd "
                        "143 is 11 × 13.")],
    "error": [user("Read all of this, please."),
              answer("", finish="error", stats=None,
                     error={"text": "the prompt has 9120 tokens, which is over the context length "
                            "of 8192 tokens; shorten it or start the server with a larger "
                            "--ctx-size", "status": 400})],
    "stopped": [user("Name the planets."),
                answer("The planets are Mercury, Venus, Earth and", finish="stopped")],
}
TITLES = ("Hash maps and when not to use them", "Is 1,001 a prime?", "A long text to read",
          "Planets")


def put(page):
    """Puts the conversations into the browser; the ids by name."""
    heads = [{"title": title, "tools": []} for title in TITLES]
    source = json.dumps({"format": "glint-conversations", "conversations": [
        {"head": head, "messages": messages}
        for head, messages in zip(heads, CONVERSATIONS.values())]})
    ids = page.run(f"""(async () => {{
        const {{readJson}} = await import("/page/transfer.js");
        const {{store}} = await import("/page/store.js");
        const all = readJson({json.dumps(source)});
        for (const {{head, messages}} of all)
            await store.put(head, messages);
        return all.map(({{head}}) => head.id);
    }})()""")
    return dict(zip(CONVERSATIONS, ids))


def ask_tool(page):
    page.run("document.querySelector('#open-settings').click()")
    page.run("document.querySelector('#tools-hint .link').click()")
    page.run("document.querySelector('#settings .primary').click()")
    page.run("document.querySelector('#message').focus()")
    page.type("What is the weather in Oslo?")
    page.press("Enter")
    page.until("document.querySelector('.call textarea')")


def show_picture(page):
    page.choose_files("#picture-file", [os.path.join(ROOT, "tools/demo/shapes.png")])
    page.run("document.querySelector('#message').focus()")
    page.type("Describe the picture.")
    page.until("document.querySelector('#pictures img')")


def shoot(browser, server, options, width, height):
    page = Page(browser, width, height, options.scale)
    url = f"http://127.0.0.1:{server.port}/"

    def save(name):
        if options.names and name not in options.names:
            return
        for colours in ("light", "dark"):
            page.colours(colours)
            page.run("new Promise((done) => setTimeout(done, 60))")
            page.picture(os.path.join(options.folder, f"{name}-{width}-{colours}.png"))

    page.go(url)
    page.until("document.getElementById('model').textContent !== ''")
    ids = put(page)
    titles = dict(zip(CONVERSATIONS, TITLES))
    page.reload()
    page.until("document.getElementById('model').textContent !== ''")
    save("empty")
    for name, id_ in ids.items():
        page.run(f"location.hash = {json.dumps(id_)}")
        page.until(f"document.getElementById('title').textContent === {json.dumps(titles[name])}")
        if name == "thinking":
            page.run("document.querySelector('.reasoning summary').click()")
        page.run("document.activeElement.blur()")
        save(name)
        if name == "talk":
            page.run("document.querySelector('#scroller').scrollTop = 0")
            page.run("new Promise((done) => setTimeout(done, 100))")
            save("talktop")
    page.run("document.querySelector('#chat-menu').click()")
    save("menu")
    page.press("Escape")
    page.run("document.querySelector('#show-sidebar:not([hidden])')?.click()")
    save("list")
    page.run("document.querySelector('#new-chat').click()")
    ask_tool(page)
    save("tool")
    page.run("document.querySelector('.call textarea').focus()")
    page.type('{"temperature": 7, "sky": "cloudy"}')
    page.run("document.querySelector('.calls .primary').click()")
    page.until("document.querySelectorAll('.stats').length === 2")
    save("result")
    page.run("document.querySelector('#new-chat').click()")
    show_picture(page)
    save("attached")
    page.press("Enter")
    page.until("document.querySelector('.stats, .error')")
    save("picture")
    page.run("document.querySelector('#open-settings').click()")
    save("settings")
    page.run("document.querySelector('#settings').close()")
    page.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--scale", type=float, default=1)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    with serving("--temp", "0") as server:
        browser = Browser()
        for width, height in SIZES:
            shoot(browser, server, options, width, height)
        browser.close()


if __name__ == "__main__":
    main()
