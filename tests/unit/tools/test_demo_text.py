# SPDX-License-Identifier: Apache-2.0
"""test_demo_text.py: the generators of tools/demo give the same text for the same seed, whatever
order this run of Python gives to its sets."""
import os
import subprocess
import sys
import unittest

DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "tools", "demo")
PROGRAM = """
import random, sys
sys.path.insert(0, sys.argv[1])
from curriculum import document
for family in ("picture", "fresh", "everyday", "text", "chat", "find", "obey", "mix"):
    rng = random.Random(family)
    for _ in range(20):
        print(family, document(rng, want=family, longest=1000))
"""


def text(hash_seed):
    environment = dict(os.environ, PYTHONHASHSEED=str(hash_seed))
    return subprocess.run([sys.executable, "-B", "-c", PROGRAM, DEMO], env=environment, check=True,
                          stdout=subprocess.PIPE).stdout.decode().splitlines()


class Seeds(unittest.TestCase):
    def test_same_seed_same_text(self):
        first, second = text(1), text(2)
        self.assertEqual(len(first), 160)
        for a, b in zip(first, second):
            self.assertEqual(a, b)


if __name__ == "__main__":
    unittest.main()
