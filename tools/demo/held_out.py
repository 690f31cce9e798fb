#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Token ids of held-out conversations, separated by commas. Standard library only.

    tools/demo/held_out.py MODEL.gguf N LENGTH SEED

Prints N times LENGTH ids: the first LENGTH after <|begin_of_text|> of N conversations, shorter ones left out; with LENGTH 0 whole
conversations, one a line. They come from the generators of this folder with seeds that training never used, in the shares it used,
without pictures.
"""
import os
import random
import sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from curriculum import document, sentences                              # noqa: E402
from gguf_vocab import vocabulary                                       # noqa: E402
from token_rows import encode                                           # noqa: E402

FAMILIES = {"fresh": 17, "everyday": 8, "text": 22, "chat": 10, "find": 5, "obey": 2, "mix": 5}


def main():
    model, (n, length, seed) = sys.argv[1], map(int, sys.argv[2:])
    enc, rng = vocabulary(model), random.Random("held out %d" % seed)
    bank, found = sentences(lambda s: len(enc.encode(s))), []
    while len(found) < n:
        want = rng.choices(list(FAMILIES), list(FAMILIES.values()))[0]
        ids = encode(enc, document(rng, longest=2000, want=want, bank=bank))[0]
        if len(ids) > length:
            found.append(",".join(map(str, ids[1:1 + length] if length else ids)))
    print(("," if length else "\n").join(found))


if __name__ == "__main__":
    main()
