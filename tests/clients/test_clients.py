# SPDX-License-Identifier: Apache-2.0
"""test_clients.py: the clients that people use, from npm, against the demo model.

The packages of package.json are installed into build/clients, once. Without Node, npm or a network
the test is left out, unless GLINT_NEEDS_CLIENTS is set.

    test_clients.py --install    installs alone, or says why not
"""
import os
import shutil
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))
from serving import ROOT, Server  # noqa: E402

FOLDER = os.path.join(ROOT, "build/clients")
INSTALL = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts",
           "--loglevel=error", "--fetch-retries=2", "--fetch-timeout=60000"]
OLDEST_NODE = 20


def missing():
    """Why the clients cannot be tried; None when they are installed."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            return f"no {program} found"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    if int((version.stdout.lstrip("v").split(".")[0]) or 0) < OLDEST_NODE:
        return f"found Node {version.stdout.strip()}, expected {OLDEST_NODE} or newer"
    os.makedirs(FOLDER, exist_ok=True)
    names = [name for name in os.listdir(HERE) if name.endswith(".mjs")]
    for name in names:  # a script's packages are looked for beside it
        shutil.copy(os.path.join(HERE, name), FOLDER)
    wanted = open(os.path.join(HERE, "package.json"), encoding="utf-8").read()
    done = os.path.join(FOLDER, "installed.json")
    if os.path.exists(done) and open(done, encoding="utf-8").read() == wanted:
        return None
    shutil.copy(os.path.join(HERE, "package.json"), FOLDER)
    began = time.time()
    run = subprocess.run(INSTALL, cwd=FOLDER, stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, check=False)
    if run.returncode != 0:
        return "npm could not install them:\n" + run.stderr[-2000:]
    with open(done, "w", encoding="utf-8") as file:
        file.write(wanted)
    print(f"installed by npm in {time.time() - began:.0f} s")
    return None


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--ollama-port", "0", "--api-key", "a-key", "--embeddings",
                            "--current-date", "2026-11-30",
                            "--store", os.path.join(FOLDER, "responses.db"))
        ollama = cls.server.wait_for_line(r"OLLAMA_HOST=(http://\S+)").group(1)
        cls.env = {**os.environ, "GLINT_BASE": f"http://127.0.0.1:{cls.server.port}",
                   "GLINT_OLLAMA": ollama, "GLINT_KEY": "a-key",
                   "GLINT_DEMO": os.path.join(ROOT, "tools/demo")}

    @classmethod
    def tearDownClass(cls):
        status, said = cls.server.stop()
        assert status == 0, said

    def run_script(self, name):
        run = subprocess.run(["node", "--test-reporter=spec", name + ".mjs"], cwd=FOLDER,
                             env=self.env, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_openai(self):
        self.run_script("openai")

    def test_anthropic(self):
        self.run_script("anthropic")

    def test_ollama(self):
        self.run_script("ollama")

    def test_ai_sdk(self):
        self.run_script("ai_sdk")


def main():
    why = missing()
    if "--install" in sys.argv:
        sys.exit(why and f"{why}: the test of clients from npm is left out.")
    if why and os.environ.get("GLINT_NEEDS_CLIENTS"):
        sys.exit(f"{why}, and GLINT_NEEDS_CLIENTS is set (tools/setup.sh ci)")
    if why:
        print(f"The clients from npm were not tried: {why}")
        sys.exit(77)
    unittest.main()


if __name__ == "__main__":
    main()
