# SPDX-License-Identifier: Apache-2.0
"""Conversations -> fixed-size chunks of arrays, made by worker processes.

A chunk holds CHUNK tokens of whole documents laid end to end (the last token is always padding) and at most PATCHES picture
patches. All fields are small numpy arrays; batch.py joins chunks and moves them to the GPU.
"""
import math
import random
import numpy as np
import bpe
from curriculum import document, sentences
from token_rows import PAD, encode

CHUNK, PATCHES, IMAGES, ITEMS, DOCS = 8192, 2048, 32, 7, 96
MERGED = PATCHES // 4


def patches_of(doc):
    return sum((p["w"] // 14) * (p["h"] // 14) for _, p in doc[2])


class Builder:
    def __init__(self, seed, tokenizer, long_share=0.15, want=None):
        self.rng, self.enc = random.Random(seed), bpe.load(tokenizer)
        self.bank = sentences(lambda s: len(self.enc.encode(s)))
        self.long_share, self.want, self.stock = long_share, want, []

    def fresh(self, **kw):
        d = encode(self.enc, document(self.rng, bank=self.bank, **kw))
        return d if len(d[0]) < CHUNK and patches_of(d) <= PATCHES else self.fresh(**kw)

    def chunk(self):
        docs, room, px, ims = [], CHUNK - 1, PATCHES, IMAGES
        if self.rng.random() < self.long_share:
            d = self.fresh(want="find", length=int(self.rng.choice((rising(self.rng), 7900 - self.rng.randrange(300), 7900 - self.rng.randrange(4000)))))
            docs.append(d)
            room -= len(d[0])
        while len(docs) < DOCS - 2:
            while len(self.stock) < 16:
                self.stock.append(self.fresh(want=self.want, longest=2000))
            ok = [i for i, d in enumerate(self.stock) if len(d[0]) <= room and patches_of(d) <= px and len(d[2]) <= ims]
            if not ok:
                break
            i = ok[0] if room > 2000 else max(ok, key=lambda j: len(self.stock[j][0]))
            d = self.stock.pop(i)
            docs.append(d)
            room, px, ims = room - len(d[0]), px - patches_of(d), ims - len(d[2])
        return arrays(docs)


def rising(rng):
    return 1500 * 2 ** rng.uniform(0, 2.4)


def arrays(docs):
    a = {"ids": np.full(CHUNK, PAD, np.int16), "cls": np.full(CHUNK, 3, np.uint8), "pos": np.zeros(CHUNK, np.int16), "cuts": np.full(DOCS, CHUNK, np.int32),
         "items": np.zeros((IMAGES, ITEMS, 9), np.float32), "image": np.zeros((IMAGES, 5), np.float32), "grid": np.ones((IMAGES, 2), np.uint8),
         "p_image": np.full(PATCHES, IMAGES - 1, np.uint8), "p_yx": np.zeros((PATCHES, 2), np.uint8), "i_cuts": np.full(IMAGES, PATCHES, np.int32),
         "src": np.zeros((MERGED, 4), np.int16), "dst": np.full(MERGED, CHUNK - 1, np.int16)}
    a["items"][:, :, 0] = -1
    t = n_im = px = m = 0
    turns = []
    for k, (ids, cls, pics, tr) in enumerate(docs):
        n = len(ids)
        a["ids"][t:t + n], a["cls"][t:t + n], a["pos"][t:t + n] = ids, cls, np.arange(n)
        for first, sc in pics:
            gh, gw = sc["h"] // 14, sc["w"] // 14
            for j, it in enumerate(sc["items"]):
                a["items"][n_im, j] = (it["kind"], it["x"], it["y"], it["size"], math.cos(it["turn"]), math.sin(it["turn"]), *it["rgb"])
            a["image"][n_im], a["grid"][n_im] = (*sc["back"], sc["soft"], sc["noise"]), (gh, gw)
            y, x = np.divmod(np.arange(gh * gw), gw)
            a["p_image"][px:px + gh * gw] = n_im
            a["p_yx"][px:px + gh * gw, 0], a["p_yx"][px:px + gh * gw, 1] = y, x
            q = gh * gw // 4
            base = px + (np.arange(0, gh, 2)[:, None] * gw + np.arange(0, gw, 2)[None]).reshape(-1)
            a["src"][m:m + q] = np.stack([base, base + 1, base + gw, base + gw + 1], -1)
            a["dst"][m:m + q] = t + first + np.arange(q)
            px, m = px + gh * gw, m + q
            a["i_cuts"][n_im] = px
            n_im += 1
        turns += [(t + f, t + e, s) for f, e, s in tr]
        t += n
        a["cuts"][k] = t
    a["pos"][t:] = np.arange(CHUNK - t)
    a["turns"] = turns
    return a


def join(chunks):
    """Chunks end to end: flat arrays, offsets made global, empty documents dropped."""
    n = len(chunks)
    cat = lambda k: np.concatenate([c[k] for c in chunks])
    shift = lambda k, by, t: np.concatenate([c[k].astype(t) + i * by for i, c in enumerate(chunks)])
    b = {k: cat(k) for k in ("ids", "cls", "pos", "items", "image", "grid", "p_yx")}
    for k, per, whole in (("cuts", CHUNK, n * CHUNK), ("i_cuts", PATCHES, n * PATCHES)):
        c = shift(k, per, np.int32)
        b[k] = np.unique(np.concatenate([[0], c, np.arange(1, n + 1) * per, [whole]])).astype(np.int32)
        b[k + "_max"] = int(np.diff(b[k]).max())
    b["p_image"], b["src"], b["dst"] = shift("p_image", IMAGES, np.int32), shift("src", PATCHES, np.int32), shift("dst", CHUNK, np.int32)
    b["turns"] = [(f + i * CHUNK, e + i * CHUNK, s) for i, c in enumerate(chunks) for f, e, s in c["turns"]]
    return b


def worker(seed, tokenizer, queue, chunks, long_share):
    """Long documents come together, in every third batch or so: attention over the others is faster."""
    b = Builder(seed, tokenizer)
    while True:
        b.long_share = 3 * long_share if b.rng.random() < 1 / 3 else 0
        queue.put(join([b.chunk() for _ in range(chunks)]))
