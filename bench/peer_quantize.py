#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glint quantize beside llama.cpp's quantizer: quality on a model, speed on real layer shapes.

usage: bench/peer_quantize.py quality GLINT PROBE MODEL.gguf N_SEED [MIX]...
       bench/peer_quantize.py same GLINT PROBE MODEL.gguf [MIX]...
       bench/peer_quantize.py speed GLINT PROBE MAKE_MODEL
(LLAMA_BACKENDS set as the probe wants: PROBE IN quant OUT FTYPE, PROBE M logits OUT IDS)

MODEL is glimmer-mini in any type; when it is quantized it is decoded, and its grids blurred.

quality  For each seed a twin of MODEL (twin_model.py) in float32 and held-out text
         (tools/demo/held_out.py). Both quantizers get the twin, and glint gives the same types to
         the same tensors; both files are read by glint with float activations and float32 cache
         and compared with the twin: mean KL divergence, share of positions with the same most
         likely token, and the difference, glint less llama.cpp, in pairs: on the same positions,
         with its standard error (over the texts, as the positions of one are alike).
same     The file that glint writes for each mix in both engines, float32 cache: KL(llama.cpp ||
         glint), with int8 and with float activations, over two of the texts; and how far
         llama.cpp's rounding of activations takes itself from glint's float activations.
speed    one layer of the 30B shapes in BF16, two threads, in turn, five rounds, seconds.
"""
import array
import concurrent.futures
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import gguf_table
import twin_model

HERE = os.path.dirname(os.path.abspath(__file__))
HELD_OUT = os.path.join(HERE, "..", "tools", "demo", "held_out.py")
MIXES = [("Q8_0", 7, "q8_0"), ("Q6_K", 18, "q6_k"), ("Q5_K_M", 17, "q5_k"), ("Q4_K_M", 15, "q4_k"),
         ("Q3_K_M", 12, "q3_k"), ("Q2_K", 10, "q2_k"), ("Q5_1", 9, "q5_1"), ("Q5_0", 8, "q5_0"),
         ("Q4_1", 3, "q4_1"), ("Q4_0", 2, "q4_0")]
EXACT = ("--exact-activations", "-ctk", "f32", "-ctv", "f32", "-q")
N_TEXT, WINDOW = 20, 256 # conversations a seed, tokens of each


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, **options).stdout.decode()


def table(path):
    return gguf_table.read(open(path, "rb").read())[1]


class Work:
    """The programs, the model as float32, and a folder to work in."""

    def __init__(self, glint, probe, model, folder):
        self.glint, self.probe, self.model = glint, probe, model
        self.kinds = {tensor.name: tensor.kind for tensor in table(model)}
        self.at = lambda name: os.path.join(folder, name)
        run(glint, "quantize", model, self.at("f32.gguf"), "f32", "--allow-requantize", "-q")

    def twin(self, seed):
        twin_model.write(self.at("f32.gguf"), self.at("twin.gguf"), self.kinds, seed)
        with open(self.at("ids"), "w") as out:
            out.write(run(sys.executable, HELD_OUT, self.model, str(N_TEXT),
                          str(WINDOW - 1), str(seed))) # the program puts BOS before each

    def quantize(self, mix):
        """The mix by both: ours.gguf, peer.gguf."""
        _, ftype, main_type = mix
        run(self.probe, self.at("twin.gguf"), "quant", self.at("peer.gguf"), str(ftype))
        rules = []
        for tensor in table(self.at("peer.gguf")):
            if len(tensor.dims) > 1 and tensor.kind != main_type:
                rules += ["--tensor", f"{tensor.name}={tensor.kind}"]
        run(self.glint, "quantize", self.at("twin.gguf"), self.at("ours.gguf"), main_type, "-q",
            *rules)

    def perplexity(self, model, *flags):
        run(self.glint, "perplexity", "-m", self.at(model), "--ids", "@" + self.at("ids"), "-t",
            "1", "--window", str(WINDOW), *EXACT, *flags)

    def compare(self, model):
        """Mean KL and share of equal most likely tokens of each text, against the base."""
        rows = self.at(model + ".rows")
        self.perplexity(model, "--kl-base", self.at("base"), "--kl-rows", rows)
        found = [tuple(map(float, line.split())) for line in open(rows)]
        n = len(found) // N_TEXT
        return [[statistics.fmean(row[i] for row in found[at:at + n]) for i in (0, 1)]
                for at in range(0, len(found), n)]


def chosen(names):
    return [mix for mix in MIXES if not names or mix[0] in names]


def mean_and_error(values):
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def line(name, texts):
    """A row of the table from (our KL and top-1, peer's KL and top-1) of each text."""
    our_kl, our_top, peer_kl, peer_top = map(statistics.fmean, zip(*texts))
    kl, kl_error = mean_and_error([a - c for a, _, c, _ in texts])
    top, top_error = mean_and_error([b - d for _, b, _, d in texts])
    return (f"{name:8}{our_kl:10.6f}{our_top:9.4f}{peer_kl:10.6f}{peer_top:9.4f}"
            f"{kl:11.6f} {kl_error:<9.6f}{top:8.4f} {top_error:<8.4f}")


def quality(glint, probe, model, n_seed, *names):
    texts = {mix[0]: [] for mix in chosen(names)}
    with tempfile.TemporaryDirectory() as folder:
        work = Work(glint, probe, model, folder)
        for seed in range(1, int(n_seed) + 1):
            work.twin(seed)
            work.perplexity("twin.gguf", "--kl-save", work.at("base"))
            for mix in chosen(names):
                work.quantize(mix)
                with concurrent.futures.ThreadPoolExecutor(2) as pool:
                    sides = pool.map(work.compare, ("ours.gguf", "peer.gguf"))
                    texts[mix[0]] += [ours + peer for ours, peer in zip(*sides)]
                print(seed, line(mix[0], texts[mix[0]]), file=sys.stderr, flush=True)
    print(f"{n_seed} seeds of {N_TEXT} texts")
    print(f"{'':8}{'glint':^19}{'llama.cpp':^19}{'difference':^37}")
    print(f"{'mix':8}{'KL':>10}{'top-1':>9}{'KL':>10}{'top-1':>9}{'KL':>11} {'error':9}"
          f"{'top-1':>8} {'error':8}")
    for name, found in texts.items():
        print(line(name, found))


def log_softmax(row):
    top = max(row)
    total = math.log(sum(math.exp(x - top) for x in row)) + top
    return [x - total for x in row]


def distributions(path, n):
    values = array.array("f")
    values.frombytes(open(path, "rb").read())
    width = len(values) // n
    return [log_softmax(values[i * width:(i + 1) * width]) for i in range(n)]


def divergence(from_rows, to_rows):
    """Mean KL and share of equal most likely tokens."""
    kl = [sum(math.exp(x) * (x - y) for x, y in zip(a, b)) for a, b in zip(from_rows, to_rows)]
    same = [a.index(max(a)) == b.index(max(b)) for a, b in zip(from_rows, to_rows)]
    return f"{statistics.fmean(kl):10.6f}{statistics.fmean(same):8.4f}"


def same_file(glint, probe, model, *names):
    print(f"{'':8}{'llama.cpp, int8':^18}{'llama.cpp, float':^18}{'float, llama.cpp':^18}")
    print(f"{'mix':8}" + f"{'KL':>10}{'top-1':>8}" * 3)
    with tempfile.TemporaryDirectory() as folder:
        work = Work(glint, probe, model, folder)
        work.twin(1)
        bos = gguf_table.read(open(model, "rb").read())[0]["tokenizer.ggml.bos_token_id"]
        found, n = open(work.at("ids")).read().split(","), WINDOW - 1
        ids = ",".join([str(bos)] + found[:n] + [str(bos)] + found[n:2 * n])
        for mix in chosen(names):
            work.quantize(mix)
            run(probe, work.at("ours.gguf"), "logits", work.at("peer"), ids,
                env=dict(os.environ, KVF32="1"))
            for name, flags in (("int8", EXACT[1:]), ("float", EXACT)):
                run(glint, "eval", "-m", work.at("ours.gguf"), "--ids", ids, "--logits",
                    work.at(name), *flags)
            peer, int8, exact = (distributions(work.at(x), 2 * WINDOW)
                                 for x in ("peer", "int8", "float"))
            print(f"{mix[0]:8}" + divergence(peer, int8) + divergence(peer, exact) +
                  divergence(exact, peer), flush=True)


def speed(glint, probe, make_model):
    with tempfile.TemporaryDirectory() as folder:
        model, out = os.path.join(folder, "m.gguf"), os.path.join(folder, "o.gguf")
        run(make_model, "--real", "--layers", "1", "--vocab", "8192", "--type", "bf16", "-o", model)
        print(f"{'mix':8}{'glint s':>9}{'llama.cpp s':>13}{'ratio':>7}  ratio of each round")
        for mix, ftype, recipe in (("Q4_K_M", 15, "q4_k_m"), ("Q6_K", 18, "q6_k")):
            seconds = ([], [])
            for _ in range(5):
                for side, command in zip(seconds, ((glint, "quantize", model, out, recipe, "-t",
                                                    "2"),
                                                   (probe, model, "quant", out, str(ftype)))):
                    began = time.monotonic()
                    run(*command)
                    side.append(time.monotonic() - began)
            ours, peer = map(statistics.median, seconds)
            print(f"{mix:8}{ours:9.2f}{peer:13.2f}{peer / ours:7.2f}  " +
                  " ".join(f"{b / a:.2f}" for a, b in zip(*seconds)), flush=True)


if __name__ == "__main__":
    {"quality": quality, "same": same_file, "speed": speed}[sys.argv[1]](*sys.argv[2:])
