# SPDX-License-Identifier: Apache-2.0
"""The tokenizer of glimmer-mini out of a GGUF file. Standard library only."""
import struct
import bpe


def gguf_tokens(path):
    """The token strings of a GGUF file, as bytes for ordinary tokens."""
    with open(path, "rb") as f:
        read = lambda fmt: struct.unpack("<" + fmt, f.read(struct.calcsize(fmt)))[0]
        text = lambda: f.read(read("Q"))
        size = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
        def value(t):
            if t == 8:
                return text()
            if t == 9:
                e, n = read("I"), read("Q")
                return [value(e) for _ in range(n)]
            return read(size[t])
        if f.read(4) != b"GGUF":
            raise SystemExit("%s: not a GGUF file" % path)
        read("I"), read("Q")
        for _ in range(read("Q")):
            k = text()
            v = value(read("I"))
            if k == b"tokenizer.ggml.tokens":
                return [t.decode() for t in v]
    raise SystemExit("%s: no tokens" % path)


def vocabulary(path):
    back, toks = {v: k for k, v in bpe.LETTER.items()}, gguf_tokens(path)
    if toks[bpe.FIRST_SPECIAL:] != bpe.SPECIAL:
        raise SystemExit("%s: not the vocabulary of glimmer-mini" % path)
    return bpe.Encoder([bytes(back[c] for c in t) for t in toks[:bpe.FIRST_SPECIAL]])
