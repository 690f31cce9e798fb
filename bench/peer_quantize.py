#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glint quantize beside llama.cpp's quantizer: quality on a model, speed on real layer shapes.

usage: bench/peer_quantize.py quality GLINT PROBE MODEL.gguf IDS
       bench/peer_quantize.py speed GLINT PROBE MAKE_MODEL
(LLAMA_BACKENDS set as the probe wants: PROBE IN quant OUT FTYPE, PROBE M logits OUT IDS)

quality  MODEL holds float weights, IDS is a file of token ids. For each llama.cpp mix the same
         types are given to the same tensors by glint; both files are then read by glint with
         float activations and float32 cache, and compared with MODEL: mean KL divergence and
         share of positions with the same most likely token. Last: glint against the probe on
         glint's file, both as they run by default, over the first 256 ids.
speed    one layer of the 30B shapes in BF16, two threads, best of three, seconds.
"""
import array
import math
import os
import struct
import subprocess
import sys
import tempfile
import time

MIXES = [("Q8_0", 7, "q8_0"), ("Q6_K", 18, "q6_k"), ("Q5_K_M", 17, "q5_k"), ("Q4_K_M", 15, "q4_k"),
         ("Q3_K_M", 12, "q3_k"), ("Q2_K", 10, "q2_k"), ("Q5_1", 9, "q5_1"), ("Q5_0", 8, "q5_0"),
         ("Q4_1", 3, "q4_1"), ("Q4_0", 2, "q4_0")]
NAMES = {0: "f32", 1: "f16", 2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 8: "q8_0", 10: "q2_k",
         11: "q3_k", 12: "q4_k", 13: "q5_k", 14: "q6_k", 30: "bf16"}
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, **options).stdout.decode()


def tensor_types(path):
    """(name, type) of every matrix of a GGUF file."""
    data = open(path, "rb").read()
    at = 8

    def take(form):
        nonlocal at
        value = struct.unpack_from("<" + form, data, at)[0]
        at += struct.calcsize(form)
        return value

    def text():
        nonlocal at
        n = take("Q")
        at += n
        return data[at - n:at].decode()

    def skip(kind):
        nonlocal at
        if kind == 8:
            text()
        elif kind == 9:
            item, n = take("I"), take("Q")
            if item in SIZES:
                at += n * SIZES[item]
            else:
                for _ in range(n):
                    skip(item)
        else:
            at += SIZES[kind]

    n_tensors, n_keys = take("Q"), take("Q")
    for _ in range(n_keys):
        text()
        skip(take("I"))
    found = []
    for _ in range(n_tensors):
        name, n_dims = text(), take("I")
        at += 8 * n_dims
        kind = take("I")
        take("Q")
        if n_dims > 1:
            found.append((name, NAMES[kind]))
    return found


def figures(glint, model, ids, base):
    out = run(glint, "perplexity", "-m", model, "--ids", "@" + ids, "--window", "256",
              "--exact-activations", "-ctk", "f32", "-ctv", "f32", "-q", "--kl-base", base)
    table = dict(line.split() for line in out.splitlines())
    return float(table["mean_kl"]), float(table["top1"])


def log_softmax(row):
    top = max(row)
    total = math.log(sum(math.exp(x - top) for x in row)) + top
    return [x - total for x in row]


def same_file(glint, probe, model, ids, folder):
    """Mean KL and top-1 share of glint against the probe."""
    rows = []
    for name in ("peer", "ours"):
        out = os.path.join(folder, name)
        if name == "peer":
            run(probe, model, "logits", out, ids, env=dict(os.environ, KVF32="1"))
        else:
            run(glint, "eval", "-m", model, "--ids", ids, "-ctk", "f32", "-ctv", "f32", "-q",
                "--logits", out)
        values = array.array("f")
        values.frombytes(open(out, "rb").read())
        n = ids.count(",") + 1
        width = len(values) // n
        rows.append([values[i * width:(i + 1) * width] for i in range(n)])
    kl = same = 0.0
    for a, b in zip(*rows):
        a, b = log_softmax(a), log_softmax(b)
        kl += sum(math.exp(x) * (x - y) for x, y in zip(a, b))
        same += a.index(max(a)) == b.index(max(b))
    return kl / len(rows[0]), same / len(rows[0])


def quality(glint, probe, model, ids):
    first = ",".join(open(ids).read().replace(",", " ").split()[:256])
    print(f"{'mix':8}{'glint KL':>11}{'top-1':>8}{'llama.cpp KL':>14}{'top-1':>8}"
          f"{'same file KL':>14}{'top-1':>8}")
    with tempfile.TemporaryDirectory() as folder:
        base, ours, peer = (os.path.join(folder, x) for x in ("base", "ours.gguf", "peer.gguf"))
        run(glint, "perplexity", "-m", model, "--ids", "@" + ids, "--window", "256",
            "--exact-activations", "-ctk", "f32", "-ctv", "f32", "-q", "--kl-save", base)
        for mix, ftype, main_type in MIXES:
            run(probe, model, "quant", peer, str(ftype))
            rules = []
            for name, kind in tensor_types(peer):
                if kind != main_type:
                    rules += ["--tensor", f"{name}={kind}"]
            run(glint, "quantize", model, ours, main_type, "-q", *rules)
            a, b = figures(glint, ours, ids, base), figures(glint, peer, ids, base)
            c = same_file(glint, probe, ours, first, folder)
            print(f"{mix:8}{a[0]:11.6f}{a[1]:8.4f}{b[0]:14.6f}{b[1]:8.4f}{c[0]:14.6f}{c[1]:8.4f}",
                  flush=True)


def speed(glint, probe, make_model):
    with tempfile.TemporaryDirectory() as folder:
        model, out = os.path.join(folder, "m.gguf"), os.path.join(folder, "o.gguf")
        run(make_model, "--real", "--layers", "1", "--vocab", "8192", "--type", "bf16", "-o", model)
        print(f"{'mix':8}{'glint s':>9}{'llama.cpp s':>13}{'ratio':>7}")
        for mix, ftype, recipe in (("Q4_K_M", 15, "q4_k_m"), ("Q6_K", 18, "q6_k")):
            best = [math.inf, math.inf]
            for _ in range(3):
                for i, command in enumerate(((glint, "quantize", model, out, recipe, "-t", "2"),
                                             (probe, model, "quant", out, str(ftype)))):
                    began = time.monotonic()
                    run(*command)
                    best[i] = min(best[i], time.monotonic() - began)
            print(f"{mix:8}{best[0]:9.2f}{best[1]:13.2f}{best[1] / best[0]:7.2f}")


if __name__ == "__main__":
    {"quality": quality, "speed": speed}[sys.argv[1]](*sys.argv[2:])
