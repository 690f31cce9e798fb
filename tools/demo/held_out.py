#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Token ids of held-out conversations, separated by commas. Standard library only.

    tools/demo/held_out.py MODEL.gguf N LENGTH SEED

Prints N times LENGTH ids: the first LENGTH after <|begin_of_text|> of N conversations, shorter ones left out. They come from the
generators of this folder with seeds that training never used, in the shares it used, without pictures.
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
    bank, ids = sentences(lambda s: len(enc.encode(s))), []
    while len(ids) < n * length:
        want = rng.choices(list(FAMILIES), list(FAMILIES.values()))[0]
        found = encode(enc, document(rng, longest=2000, want=want, bank=bank))[0]
        if len(found) > length:
            ids += found[1:1 + length]
    print(",".join(map(str, ids)))


if __name__ == "__main__":
    main()
