#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glint quantize beside llama.cpp's quantizer: quality on a model, speed on real layer shapes.

usage: bench/peer_quantize.py quality GLINT PROBE MODEL.gguf N_SEED [MIX]...
       bench/peer_quantize.py same GLINT PROBE MODEL.gguf [MIX]...
       bench/peer_quantize.py speed GLINT PROBE MAKE_MODEL [N_ROUND]
(LLAMA_BACKENDS set as the probe wants: PROBE IN quant OUT FTYPE, PROBE M logits OUT IDS)

MODEL is glimmer-mini in any type; when it is quantized it is decoded, and its grids blurred.

quality  For each seed a twin of MODEL (twin_model.py) in float32 and held-out text
         (tools/demo/held_out.py). Both quantizers get the twin, and glint gives the same types to
         the same tensors; both files are read by glint with float activations and float32 cache
         and compared with the twin: mean KL divergence, share of positions with the same most
         likely token, and the difference, glint less llama.cpp, in pairs: on the same positions,
         with its standard error (over the texts, as the positions of one are alike).
same     The file that glint writes for each mix in both engines, float32 cache: KL(llama.cpp ||
         glint) with int8 and with float activations where the assistant speaks in whole
         conversations; and KL(glint, float activations || llama.cpp), what the other rounding of
         activations costs.
speed    one layer of the 30B shapes in BF16, two threads, in turn, five rounds: medians.
"""
import array
import concurrent.futures
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "demo")
sys.path.append(DEMO)
import bpe         # noqa: E402
import gguf_table  # noqa: E402
import gguf_vocab  # noqa: E402
import twin_model  # noqa: E402

HELD_OUT = os.path.join(DEMO, "held_out.py")
MIXES = [("Q8_0", 7, "q8_0"), ("Q6_K", 18, "q6_k"), ("Q5_K_M", 17, "q5_k"), ("Q4_K_M", 15, "q4_k"),
         ("Q3_K_M", 12, "q3_k"), ("Q2_K", 10, "q2_k"), ("Q5_1", 9, "q5_1"), ("Q5_0", 8, "q5_0"),
         ("Q4_1", 3, "q4_1"), ("Q4_0", 2, "q4_0")]
EXACT = ("--exact-activations", "-ctk", "f32", "-ctv", "f32", "-q")
N_TEXT, WINDOW = 20, 256 # conversations a seed, tokens of each
N_SAME = 4 # whole conversations


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
        self.assistant = gguf_vocab.vocabulary(model).encode("assistant")[0]
        self.at = lambda name: os.path.join(folder, name)
        self.source = self.at("f32.gguf")
        run(glint, "quantize", model, self.source, "f32", "--allow-requantize", "-q")

    def twin(self, seed):
        self.source = self.at("twin.gguf")
        twin_model.write(self.at("f32.gguf"), self.source, self.kinds, seed)
        with open(self.at("ids"), "w") as out:
            out.write(run(sys.executable, HELD_OUT, self.model, str(N_TEXT),
                          str(WINDOW - 1), str(seed))) # the program puts BOS before each

    def quantize(self, mix):
        """The mix by both: ours.gguf, peer.gguf."""
        _, ftype, main_type = mix
        run(self.probe, self.source, "quant", self.at("peer.gguf"), str(ftype))
        rules = []
        for tensor in table(self.at("peer.gguf")):
            if len(tensor.dims) > 1 and tensor.kind != main_type:
                rules += ["--tensor", f"{tensor.name}={tensor.kind}"]
        run(self.glint, "quantize", self.source, self.at("ours.gguf"), main_type, "-q", *rules)

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


def distributions(path, n, positions):
    values = array.array("f")
    values.frombytes(open(path, "rb").read())
    width = len(values) // n
    return [log_softmax(values[i * width:(i + 1) * width]) for i in positions]


def divergence(from_rows, to_rows):
    """KL and whether the most likely token is the same, at each position."""
    return [(sum(math.exp(x) * (x - y) for x, y in zip(a, b)), a.index(max(a)) == b.index(max(b)))
            for a, b in zip(from_rows, to_rows)]


def said(ids, assistant):
    """Positions that predict a token of the assistant's turns: after <|start|>assistant, up to
    and with <|eot|>."""
    found, inside = [], False
    for i in range(1, len(ids)):
        if inside:
            found.append(i - 1)
        if ids[i] == bpe.SPECIAL_ID["<|eot|>"]:
            inside = False
        elif ids[i - 1] == bpe.SPECIAL_ID["<|start|>"]:
            inside = ids[i] == assistant
    return found


def compare_engines(work, ids):
    """Three lists of divergences at the assistant's positions of one conversation."""
    text, model, rows = ",".join(map(str, ids)), work.at("ours.gguf"), []
    run(work.probe, model, "logits", work.at("peer"), text, env=dict(os.environ, KVF32="1"))
    for name, flags in (("int8", EXACT[1:]), ("float", EXACT)):
        run(work.glint, "eval", "-m", model, "--ids", text, "--logits", work.at(name), *flags)
    for name in ("peer", "int8", "float"):
        rows.append(distributions(work.at(name), len(ids), said(ids, work.assistant)))
    peer, int8, exact = rows
    return divergence(peer, int8), divergence(peer, exact), divergence(exact, peer)


def same_file(glint, probe, model, *names):
    print(f"{'':8}{'llama.cpp, int8':^18}{'llama.cpp, float':^18}{'float, llama.cpp':^18}")
    print(f"{'mix':8}" + f"{'KL':>10}{'top-1':>8}" * 3 + "  positions")
    with tempfile.TemporaryDirectory() as folder:
        work = Work(glint, probe, model, folder)
        texts = run(sys.executable, HELD_OUT, model, str(N_SAME), "0", "3").split()
        for mix in chosen(names):
            work.quantize(mix)
            pairs = [compare_engines(work, list(map(int, text.split(",")))) for text in texts]
            columns = [[x for text in pairs for x in text[i]] for i in range(3)]
            print(f"{mix[0]:8}" + "".join(f"{statistics.fmean(x[0] for x in column):10.1e}"
                                          f"{statistics.fmean(x[1] for x in column):8.4f}"
                                          for column in columns) + f"{len(columns[0]):11}",
                  flush=True)


def seconds_of(*command):
    """(elapsed, CPU) seconds of a program."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (time.monotonic() - began,
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def speed(glint, probe, make_model, n_round="5"):
    print(f"{'':8}{'glint':^16}{'llama.cpp':^16}{'llama.cpp / glint':^18}")
    print(f"{'mix':8}" + f"{'seconds':>9}{'CPU':>7}" * 2 + f"{'seconds':>11}{'CPU':>7}" +
          "   seconds, by round")
    with tempfile.TemporaryDirectory() as folder:
        model, out = os.path.join(folder, "m.gguf"), os.path.join(folder, "o.gguf")
        run(make_model, "--real", "--layers", "1", "--vocab", "8192", "--type", "bf16", "-o", model)
        for mix, ftype, recipe in (("Q4_K_M", 15, "q4_k_m"), ("Q6_K", 18, "q6_k")):
            rounds = [seconds_of(glint, "quantize", model, out, recipe, "-t", "2") +
                      seconds_of(probe, model, "quant", out, str(ftype))
                      for _ in range(int(n_round))]
            ours, our_cpu, peer, peer_cpu = map(statistics.median, zip(*rounds))
            print(f"{mix:8}{ours:9.2f}{our_cpu:7.2f}{peer:9.2f}{peer_cpu:7.2f}"
                  f"{peer / ours:11.2f}{peer_cpu / our_cpu:7.2f}   " +
                  " ".join(f"{row[2] / row[0]:.2f}" for row in rounds), flush=True)


if __name__ == "__main__":
    {"quality": quality, "same": same_file, "speed": speed}[sys.argv[1]](*sys.argv[2:])
