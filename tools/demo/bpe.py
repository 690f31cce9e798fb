# SPDX-License-Identifier: Apache-2.0
"""Byte-level BPE: training on our own generated text, and the encoder the generators use.

    python3 bpe.py train OUT_DIR      writes tokenizer.json, tokenizer_config.json, special_tokens_map.json

Splitting rule: the `llama4` expression. No token joins digits, so that numbers stay digit by digit. The merge
list holds every split of every token, ordered by the joined token, as the released model's list does; an encoder
may therefore join the pair whose result has the lowest id.
"""
import collections
import heapq
import json
import os
import random
import re
import sys
import unicodedata

SPLIT = ("[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")


def classes():
    """The Unicode categories that SPLIT names, as character ranges: Python's re has no property classes."""
    runs, last = {}, None
    for c in range(0x110000):
        g = unicodedata.category(chr(c))
        g = "M" if g[0] == "M" else "N" if g[0] == "N" else g
        if g != last:
            runs.setdefault(g, []).append([c, c])
            last = g
        runs[g][-1][1] = c
    text = lambda names: "".join("\\U%08x-\\U%08x" % (x, y) for n in names for x, y in runs[n])
    return {"L": text(("Lu", "Ll", "Lt", "Lm", "Lo")), **{n: text((n,)) for n in ("Lu", "Lt", "Lm", "Lo", "Ll", "M", "N")}}


def splitter():
    kinds, white = classes(), "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
    p = re.sub(r"\\p\{(\w+)\}", lambda m: kinds[m[1]], SPLIT.replace("\\p{N}{1,3}", "[\\p{N}]{1,3}"))
    p = p.replace("[^\\s", "[^" + white).replace("\\S", "[^" + white + "]").replace("\\s", "[" + white + "]")
    return re.compile(p)


PIECES = splitter()
VOCAB = 4096
NAMED = ["<|begin_of_text|>", "<|end_of_text|>", "<|eom|>", "<|eot|>", "<|finetune_right_pad|>", "<|start|>", "<|message|>",
         "<|image_start|>", "<|image_end|>", "<|vid_start|>", "<|vid_end|>", "<|vid_frame_separator|>", "<|image|>",
         "<|video|>", "<|patch|>", "<|reserved_special_token_1818|>"]
SPECIAL = NAMED + ["<|reserved_special_token_%d|>" % i for i in range(100, 116)]
FIRST_SPECIAL = VOCAB - len(SPECIAL)
SPECIAL_ID = {t: FIRST_SPECIAL + i for i, t in enumerate(SPECIAL)}


def byte_letters():
    """The published spelling of bytes as printable characters."""
    keep = list(range(0x21, 0x7F)) + list(range(0xA1, 0xAD)) + list(range(0xAE, 0x100))
    out, n = {b: chr(b) for b in keep}, 0
    for b in range(256):
        if b not in out:
            out[b] = chr(256 + n)
            n += 1
    return out


LETTER = byte_letters()


def train(texts, size):
    """Greedy pair merging. Returns the list of tokens (bytes), the 256 single bytes first."""
    count = collections.Counter()
    for t in texts:
        count.update(PIECES.findall(t))
    words, freq = [], []
    for w, c in count.items():
        if c < 3 or any(ch.isdigit() for ch in w):
            continue
        words.append(list(w.encode()))
        freq.append(c)
    tokens = [bytes([i]) for i in range(256)]
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, w in enumerate(words):
        for p in zip(w, w[1:]):
            pairs[p] += freq[i]
            where[p].add(i)
    heap = [(-c, p) for p, c in pairs.items()]
    heapq.heapify(heap)
    known = set(tokens)
    while len(tokens) < size and heap:
        c, p = heapq.heappop(heap)
        if pairs.get(p, 0) != -c or c == 0:
            continue
        joined = tokens[p[0]] + tokens[p[1]]
        if joined in known:                                     # same bytes by another split: reuse would break the rank form
            pairs.pop(p)
            continue
        known.add(joined)
        new = len(tokens)
        tokens.append(joined)
        touched = set()
        for i in where.pop(p):
            w, f, j, out = words[i], freq[i], 0, []
            for q in zip(w, w[1:]):
                pairs[q] -= f
                touched.add(q)
            while j < len(w):
                if j + 1 < len(w) and (w[j], w[j + 1]) == p:
                    out.append(new)
                    j += 2
                else:
                    out.append(w[j])
                    j += 1
            words[i] = out
            for q in zip(out, out[1:]):
                pairs[q] += f
                where[q].add(i)
                touched.add(q)
        for q in touched:
            if pairs.get(q, 0) > 0:
                heapq.heappush(heap, (-pairs[q], q))
    return tokens


class Encoder:
    def __init__(self, tokens):
        self.tokens = tokens
        self.rank = {t: i for i, t in enumerate(tokens)}
        self.cache = {}

    def piece(self, s):
        b = s.encode()
        whole = self.rank.get(b)
        if whole is not None:
            return (whole,)
        parts = [b[i:i + 1] for i in range(len(b))]
        rank = self.rank
        while len(parts) > 1:
            best, at = 1 << 30, -1
            for i in range(len(parts) - 1):
                r = rank.get(parts[i] + parts[i + 1])
                if r is not None and r < best:
                    best, at = r, i
            if at < 0:
                break
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        return tuple(rank[p] for p in parts)

    def encode(self, text):
        out, cache = [], self.cache
        for p in PIECES.findall(text):
            ids = cache.get(p)
            if ids is None:
                ids = self.piece(p)
                if len(cache) > 400000:
                    cache.clear()
                cache[p] = ids
            out += ids
        return out

    def decode(self, ids):
        return b"".join(self.tokens[i] if i < len(self.tokens) else SPECIAL[i - FIRST_SPECIAL].encode() for i in ids).decode("utf-8", "replace")


def letters(b):
    return "".join(LETTER[x] for x in b)


def load(folder):
    vocab = json.load(open(os.path.join(folder, "tokenizer.json"), encoding="utf-8"))["model"]["vocab"]
    back = {v: k for k, v in LETTER.items()}
    tokens = [None] * len(vocab)
    for t, i in vocab.items():
        tokens[i] = bytes(back[c] for c in t)
    return Encoder(tokens)


def save(tokens, folder, template):
    rank = {t: i for i, t in enumerate(tokens)}
    merges = []
    for t in tokens[256:]:
        splits = [(rank[t[:k]], rank[t[k:]]) for k in range(1, len(t)) if t[:k] in rank and t[k:] in rank]
        merges += [[letters(tokens[a]), letters(tokens[b])] for a, b in sorted(splits)]
    added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for t, i in SPECIAL_ID.items()]
    doc = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
           "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
               {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": False},
               {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]},
           "post_processor": {"type": "TemplateProcessing",
                              "single": [{"SpecialToken": {"id": "<|begin_of_text|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                              "pair": [{"SpecialToken": {"id": "<|begin_of_text|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                                       {"SpecialToken": {"id": "<|begin_of_text|>", "type_id": 1}}, {"Sequence": {"id": "B", "type_id": 1}}],
                              "special_tokens": {"<|begin_of_text|>": {"id": "<|begin_of_text|>", "ids": [SPECIAL_ID["<|begin_of_text|>"]],
                                                                      "tokens": ["<|begin_of_text|>"]}}},
           "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
           "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                     "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
                     "vocab": {letters(t): i for i, t in enumerate(tokens)}, "merges": merges}}
    os.makedirs(folder, exist_ok=True)
    w = lambda n, x: json.dump(x, open(os.path.join(folder, n), "w", encoding="utf-8"), ensure_ascii=False, indent=1)
    w("tokenizer.json", doc)
    names = {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot|>", "pad_token": "<|finetune_right_pad|>"}
    w("tokenizer_config.json", {**names, "tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False,
                                "model_max_length": 8192, "add_bos_token": True,
                                "added_tokens_decoder": {str(a["id"]): {k: a[k] for k in a if k != "id"} for a in added}})
    w("special_tokens_map.json", names)
    open(os.path.join(folder, "chat_template.jinja"), "w", encoding="utf-8", newline="").write(template)
    return len(merges)


def main():
    from curriculum import document
    from chat_format import render
    folder, template = sys.argv[2], open(sys.argv[3], encoding="utf-8").read()
    rng, texts = random.Random(1), []
    for _ in range(int(sys.argv[4]) if len(sys.argv) > 4 else 30000):
        texts += [s[1] for s in render(document(rng, longest=900)) if s[0] == "t"]
    tokens = train(texts, FIRST_SPECIAL)
    enc = Encoder(tokens)
    print("tokens", len(tokens), "merge rows", save(tokens, folder, template), "bytes/token",
          sum(len(t.encode()) for t in texts[:3000]) / sum(len(enc.encode(t)) for t in texts[:3000]))


if __name__ == "__main__":
    main()
