#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`glint chat` in a terminal, driven by tmux as a person would: keys in, screens out.

    tests/app/test_terminal.py build/release/glint [--update] [NAME...]

Every screen must become the one kept in screens/NAME.txt (figures of speed masked). --update writes
what the screens are now; look at them before they are committed. Needs tmux; passes with a note
where there is none.
"""
import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WAIT_S = 60  # for a screen on a busy machine; a wrong one is told at once when it stands still


def masked(screen):
    """The screen without what differs from run to run."""
    screen = re.sub(r"\d+(\.\d+)? tok/s", "N tok/s", screen)
    screen = re.sub(r", drafts \d+/\d+", "", screen)  # tried only where the clock says it pays
    screen = re.sub(r"at \d+, wrote", "at N, wrote", screen)
    screen = re.sub(r"\d+ threads? \(\w+\)", "N threads (TIER)", screen)
    again = r"a\s?g\s?a\s?i\s?n"  # the echo of Ctrl-C may have pushed it over the edge
    screen = re.sub(again + r"(?:(?:\s|\^C)*" + again + r")*(?:\^C)?", "again and again", screen)
    screen = re.sub(r"wrote \d+ at (.*) \d+/(\d+) \| stopped", r"wrote N at \1 N/\2 | stopped",
                    screen)
    return "\n".join(line.rstrip() for line in screen.split("\n")).rstrip("\n") + "\n"


class Terminal:
    """One program in a tmux of its own."""
    n = 0  # of them so far

    def __init__(self, folder, command, environment=None, columns=120):
        Terminal.n += 1
        self.base = ["tmux", "-L", "glint%d" % Terminal.n, "-f", "/dev/null"]
        kept = {k: os.environ[k] for k in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")
                if k in os.environ}
        self.env = {**kept, "TMUX_TMPDIR": folder, "HOME": folder, "LC_ALL": "C.UTF-8"}
        inner = {"XDG_STATE_HOME": os.path.join(folder, "state"), **(environment or {})}
        words = " ".join("%s='%s'" % kv for kv in inner.items()) + " " + command
        self.tmux("new-session", "-d", "-x", str(columns), "-y", "24", "-s", "chat",
                  words + "; echo left with $?; sleep 1000")

    def tmux(self, *words):
        return subprocess.run(self.base + list(words), env=self.env, check=True,
                              capture_output=True, timeout=60).stdout.decode()

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "chat", *keys)

    def paste(self, text):
        self.tmux("set-buffer", text)
        self.tmux("paste-buffer", "-p", "-t", "chat")

    def resize(self, columns):
        self.tmux("resize-window", "-t", "chat", "-x", str(columns), "-y", "24")

    def screen(self):
        return masked(self.tmux("capture-pane", "-p", "-t", "chat"))

    def close(self):
        self.tmux("kill-server")


class Check:
    def __init__(self, update, names):
        self.update, self.names, self.n_bad, self.n = update, names, 0, 0

    def wrong(self, text):
        self.n_bad += 1
        print(text)

    def screen(self, terminal, name):
        """Waits until the screen is the kept one."""
        path = os.path.join(HERE, "screens", name + ".txt")
        wanted = open(path).read() if os.path.exists(path) else ""
        began = time.time()
        found = terminal.screen()
        still_since = began
        # Before it is called wrong, a screen must have stood still for a while.
        limit = 3 if self.update else 15
        while (self.update or found != wanted) and time.time() - began < WAIT_S \
                and time.time() - still_since < limit:
            time.sleep(0.1)
            now = terminal.screen()
            if now != found:
                found, still_since = now, time.time()
        self.n += 1
        if self.update:
            with open(path, "w") as f:
                f.write(found)
        elif found != wanted:
            self.wrong("%s differs:" % name)
            print("\n".join(difflib.unified_diff(wanted.split("\n"), found.split("\n"), "kept",
                                                 "found", lineterm="")))

    def until(self, terminal, text):
        """Waits for a text on the screen."""
        began = time.time()
        while text not in terminal.screen():
            if time.time() - began > WAIT_S:
                self.wrong("no \"%s\" on the screen:\n%s" % (text, terminal.screen()))
                return
            time.sleep(0.05)


def start(check, folder, command, environment=None):
    t = Terminal(folder, command, environment)
    check.until(t, "leaves.\n>")
    return t


def conversation(check, folder, glint):
    """A question, /retry, the history, lines of several kinds, tools, leaving."""
    t = start(check, folder, glint + " chat --temp 0")
    t.keys("What is 27 + 58?", "Enter")
    check.screen(t, "question")
    t.keys("/retry", "Enter")
    check.screen(t, "retry")
    t.keys("Up", "Up")  # the history: /retry, then the question
    check.screen(t, "history")
    t.keys("C-c")
    check.until(t, "58?\n>")
    t.keys("first", "M-Enter", "second")
    check.screen(t, "two_lines")
    t.keys("C-c")
    check.until(t, "second\n>")
    t.paste("\n".join(str(i) for i in range(1, 31)))
    check.screen(t, "pasted")
    t.keys("C-c")
    check.until(t, "#1]\n>")
    t.keys("C-l")
    t.keys("/tools ../tools/demo/weather.json", "Enter")
    check.until(t, "its result\n>")
    t.keys("What is the weather in Oslo?", "Enter")
    check.until(t, "result of get_weather>")
    t.keys('{"temperature": 12, "sky": "rain"}', "Enter")
    check.screen(t, "tool")
    t.keys("/ed", "Tab", "Enter")
    check.screen(t, "edit")
    t.keys("C-c")
    check.until(t, "Oslo?\n>")
    t.keys("C-c")
    check.until(t, "leaves\n>")
    t.keys("C-c")
    check.screen(t, "left")
    t.close()
    t = start(check, folder, glint + " chat --temp 0")
    t.keys("Up", "Up")  # what was typed the last time
    check.screen(t, "history_kept")
    t.close()


def interrupt(check, folder, glint):
    """An answer without end is stopped; what was there stays, and the talk goes on."""
    t = start(check, folder, glint + " chat --temp 0 --logit-bias %s=1000" % AGAIN)
    t.keys("Say it", "Enter")
    check.until(t, "again and again")
    t.keys("C-c")
    check.screen(t, "stopped")
    t.keys("C-l")
    t.keys("/retry", "Enter")
    check.until(t, "again and again")
    t.keys("C-c")
    check.until(t, "stopped ]\n>")
    t.keys("C-d")
    check.until(t, "left with 0")
    t.close()


def picture(check, folder, glint):
    """A picture by its path in the text, and one by /image."""
    t = start(check, folder, glint + " chat --temp 0")
    t.keys("Describe ../tools/demo/shapes.png", "Enter")
    check.screen(t, "picture")
    t.keys("/im", "Tab", "../tools/demo/sha", "Tab", "Enter")
    check.until(t, "24 tokens\n>")
    t.keys("How many shapes are there?", "Enter")
    check.screen(t, "picture_command")
    t.close()


def escapes(check, folder, glint):
    """Control sequences of the model are shown, not obeyed."""
    t = start(check, folder, glint + " chat --temp 0 -n 9 --logit-bias %s=1000" % ESCAPE)
    t.keys("Say it", "Enter")
    check.screen(t, "escapes")
    t.close()


def resize(check, folder, glint):
    """A narrower window: the line being typed and the next answer fit it."""
    t = Terminal(folder, glint + " chat --temp 0 -q")
    check.until(t, ">")
    t.keys("Please tell me in a few words, if you can, what the result of 27 + 58 is")
    check.until(t, "58 is")
    t.resize(44)
    t.keys(" and why")
    check.screen(t, "narrow_line")
    t.keys("C-u")
    t.keys("Who are you?", "Enter")
    check.screen(t, "narrow_answer")
    t.resize(120)
    t.keys("What is 12 + 30?", "Enter")
    check.screen(t, "wide_answer")
    t.close()


def plain(check, folder, glint):
    """TERM=dumb and an ASCII locale: no editing, no colours, still a conversation."""
    t = start(check, folder, glint + " chat --temp 0", {"TERM": "dumb", "LC_ALL": "C"})
    t.keys("What is 27 + 58?", "Enter")
    check.screen(t, "dumb")
    if "\033" in t.tmux("capture-pane", "-p", "-e", "-t", "chat"):
        check.wrong("dumb: colours")
    t.close()


def colours(check, folder, glint):
    """The mark of the prompt is bold, what comes after it is not."""
    t = Terminal(folder, glint + " chat --temp 0 -q")
    check.until(t, ">")
    t.keys("hi", "Enter")
    check.until(t, "help you?\n>")
    screen = t.tmux("capture-pane", "-p", "-e", "-t", "chat")
    if not re.search("\033\\[[0-9;]*1m>\033\\[0m", screen):
        check.wrong("colours: the mark alone should be bold:\n" + repr(screen.strip()))
    t.close()


AGAIN = ESCAPE = ""


def id_of(glint, text):
    run = subprocess.run([glint, "tokenize", "-m", "../models/glimmer-mini.gguf"], input=text,
                         capture_output=True, check=True)
    return run.stdout.decode().strip()


def main():
    global AGAIN, ESCAPE
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("glint")
    p.add_argument("--update", action="store_true")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    if not shutil.which("tmux"):
        print("tmux is missing: not tested (tools/setup.sh test)")
        return 0
    glint = os.path.abspath(args.glint)
    os.chdir(os.path.join(HERE, ".."))
    AGAIN, ESCAPE = (id_of(glint, text) for text in (b" again", b"\033"))
    check = Check(args.update, args.names)
    for part in (conversation, interrupt, picture, escapes, resize, plain, colours):
        if args.names and part.__name__ not in args.names:
            continue
        with tempfile.TemporaryDirectory(prefix="glint-tmux-") as folder:
            part(check, folder, glint)
    print("%d screens, %d wrong" % (check.n, check.n_bad))
    return 1 if check.n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
