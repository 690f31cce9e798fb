#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mean KL divergence that rounding activations costs, glint beside a llama.cpp probe.

usage: bench/peer_kl.py GLINT PROBE        (LLAMA_BACKENDS set as the probe wants)

For every weight type the golden checkpoint `wide` is converted, evaluated by glint with exact
activations (the reference), by glint with int8 activations and by the probe (`PROBE FILE logits
OUT ids`, KVF32=1). Prints one row a type; tests/golden/test_golden_types.c holds the last column.
"""
import array, math, os, subprocess, sys, tempfile

TYPES = "q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k".split()


def golden_ids(path):
    import json, struct
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + n])["text.ids"]
    begin, end = entry["data_offsets"]
    ids = array.array("i")
    ids.frombytes(data[8 + n + begin:8 + n + end])
    return list(ids)


def rows(path, n):
    values = array.array("f")
    values.frombytes(open(path, "rb").read())
    width = len(values) // n
    return [values[i * width:(i + 1) * width] for i in range(n)]


def log_softmax(row):
    top = max(row)
    total = math.log(sum(math.exp(x - top) for x in row)) + top
    return [x - total for x in row]


def mean_kl(p, q):
    total = 0.0
    for a, b in zip(p, q):
        a, b = log_softmax(a), log_softmax(b)
        total += sum(math.exp(x) * (x - y) for x, y in zip(a, b))
    return total / len(p)


def main():
    glint, probe = sys.argv[1:3]
    wide = os.path.join(os.path.dirname(__file__), "..", "tests", "golden", "wide")
    ids = golden_ids(os.path.join(wide, "golden.safetensors"))
    text = ",".join(map(str, ids))
    print(f"{'type':6} {'glint int8':>11} {'llama.cpp':>11}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in TYPES:
            model = os.path.join(folder, "m.gguf")
            subprocess.run([glint, "convert", wide, "-o", model, "--type", kind, "-q"], check=True)
            outs = {}
            for name, flags in (("exact", ["--exact-activations"]), ("int8", [])):
                out = os.path.join(folder, name)
                command = [glint, "eval", "-m", model, "--ids", text, "--logits", out, "-q",
                           "-ctk", "f32", "-ctv", "f32", "-c", "512"] + flags
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                outs[name] = rows(out, len(ids))
            out = os.path.join(folder, "peer")
            subprocess.run([probe, model, "logits", out, text], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env=dict(os.environ, KVF32="1"))
            peer = rows(out, len(ids))
            ours, theirs = mean_kl(outs["exact"], outs["int8"]), mean_kl(outs["exact"], peer)
            print(f"{kind:6} {ours:11.5f} {theirs:11.5f}", flush=True)


if __name__ == "__main__":
    main()
