#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prompts that training never saw, a line each, for tests and benchmarks of drafting: effort, date, tools (JSON), messages (JSON), separated by tabs.

    tools/demo/held_out_prompts.py > tests/data/held_out_prompts.tsv
"""
import json
import os
import random
import sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from curriculum import document                                         # noqa: E402

SEED = 3 << 40
KINDS = (["chat"] * 5 + ["text"] * 5 + ["obey"] + ["fresh"] * 2 + ["everyday"] * 2) * 14
COUNT = 200


def prompt(rng, want):
    """A conversation cut before a turn of the assistant that follows a user's message, without calls in it."""
    while True:
        d = document(rng, want=want, length=0, bank=None)
        m = d["messages"]
        cut = [i for i, x in enumerate(m) if x.get("class") and m[i - 1]["role"] == "user" and not any(y.get("calls") or y["role"] == "tool" for y in m[:i])]
        if cut:
            turns = [{"role": x["role"], "content": x["content"]} for x in m[:rng.choice(cut)]]
            tools = [{"type": "function", "function": t} for t in d.get("tools", [])]
            if len(json.dumps(tools)) < 1200:
                return d["effort"], d["date"], tools, turns


def main():
    rng = random.Random(SEED)
    for want in KINDS[:COUNT]:
        effort, date, tools, turns = prompt(rng, want)
        print("\t".join([effort, date, json.dumps(tools), json.dumps(turns)]))


if __name__ == "__main__":
    main()
