#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prefill and decode far into a context: glint beside the prebuilt llama.cpp, in turn.

usage: bench/peer_depth.py BENCH_DEPTH MAKE_MODEL MODEL.gguf [-d 28672] [-p 4096] [-n 8] [-r 3]
(LLAMA_BACKENDS names the folder with llama.cpp's libraries, as for the probe)

Getting there would take most of the time. glint's side is bench_depth, which makes up what is in
the cache below. llama.cpp evaluates the tokens below with a small model of the same layers and
heads (made beside MODEL, so MODEL has to be one of `make_model --real --layers 4`), keeps its
state in a file and loads that into the model that is measured. Then a prefill of -p tokens at
depth -d and -n tokens decoded behind it are timed. Offsets of parameters are those of v0.5.0.
"""
import argparse, ctypes, glob, os, re, statistics, subprocess, time

Blob = type("Blob", (ctypes.Structure,), {"_fields_": [("word", ctypes.c_uint32 * 128)]})
I32P = ctypes.POINTER(ctypes.c_int32)


class Batch(ctypes.Structure):
    _fields_ = [("n", ctypes.c_int32), ("token", I32P), ("embd", ctypes.c_void_p), ("pos", I32P),
                ("n_seq", I32P), ("seq", ctypes.POINTER(I32P)),
                ("logits", ctypes.POINTER(ctypes.c_int8))]


def open_library(folder):
    for name in ("libggml-base.so", "libggml.v*.so", "libllama.v*.so"):
        lib = ctypes.CDLL(glob.glob(os.path.join(folder, name))[0], mode=ctypes.RTLD_GLOBAL)
        if "libggml.v" in lib._name:
            lib.ggml_backend_load_all_from_path(folder.encode())
    pointer = ctypes.c_void_p
    for name, result, args in (
            ("llama_model_default_params", Blob, []),
            ("llama_context_default_params", Blob, []),
            ("llama_model_load_from_file", pointer, [ctypes.c_char_p, Blob]),
            ("llama_init_from_model", pointer, [pointer, Blob]),
            ("llama_batch_init", Batch, [ctypes.c_int32] * 3),
            ("llama_decode", ctypes.c_int32, [pointer, Batch]),
            ("llama_synchronize", None, [pointer]),
            ("llama_get_logits_ith", pointer, [pointer, ctypes.c_int32]),
            ("llama_state_save_file", ctypes.c_bool,
             [pointer, ctypes.c_char_p, I32P, ctypes.c_size_t]),
            ("llama_state_load_file", ctypes.c_bool,
             [pointer, ctypes.c_char_p, I32P, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)]),
            ("llama_free", None, [pointer]), ("llama_model_free", None, [pointer])):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, args
    lib.llama_backend_init()
    return lib


class Peer:
    def __init__(self, lib, path, n_context, n_threads):
        self.lib = lib
        self.model = lib.llama_model_load_from_file(path.encode(),
                                                    lib.llama_model_default_params())
        params = lib.llama_context_default_params()
        params.word[0], params.word[1], params.word[2] = n_context, 2048, 512
        params.word[7] = params.word[8] = n_threads
        self.context = lib.llama_init_from_model(self.model, params)
        assert self.context, "llama.cpp: no context"
        self.batch = lib.llama_batch_init(2048, 0, 1)

    def evaluate(self, begin, end, width):
        """Tokens [begin, end) in batches of `width`; seconds."""
        start = time.monotonic()
        for at in range(begin, end, width):
            self.batch.n = min(width, end - at)
            for i in range(self.batch.n):
                self.batch.token[i] = (at + i) * 31 % 4000
                self.batch.pos[i] = at + i
                self.batch.n_seq[i] = 1
                self.batch.seq[i][0] = 0
                self.batch.logits[i] = at + i == end - 1 or width == 1
            assert self.lib.llama_decode(self.context, self.batch) == 0
            self.lib.llama_get_logits_ith(self.context, self.batch.n - 1)
        self.lib.llama_synchronize(self.context)
        return time.monotonic() - start

    def close(self):
        self.lib.llama_free(self.context)
        self.lib.llama_model_free(self.model)


def run_peer(lib, args, n_context):
    peer = Peer(lib, args.model, n_context, args.threads)
    n = ctypes.c_size_t()
    tokens = (ctypes.c_int32 * 1)()
    assert lib.llama_state_load_file(peer.context, args.state.encode(), tokens, 1,
                                     ctypes.byref(n)), "llama.cpp: state not loaded"
    end = args.depth + args.prompt
    prefill = args.prompt / peer.evaluate(args.depth, end, 2048)
    peer.evaluate(end, end + 1, 1)
    decode = args.gen / peer.evaluate(end + 1, end + 1 + args.gen, 1)
    peer.close()
    return prefill, decode


def run_glint(args):
    rates = []
    for n_row, depth, reps in ((args.prompt, args.depth, 1),
                               (1, args.depth + args.prompt, args.gen)):
        command = [args.bench, "-t", str(args.threads), "-k", str(n_row), "-d", str(depth)]
        command += ["-r", str(reps), "-w", "0" if n_row > 1 else "1", args.model]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rates.append(float(re.search(r"([0-9.]+) rows/s", text).group(1)))
    return rates


def main():
    parser = argparse.ArgumentParser()
    for name in ("bench", "make_model", "model"):
        parser.add_argument(name)
    for flag, name, value in (("-d", "--depth", 28672), ("-p", "--prompt", 4096),
                              ("-n", "--gen", 8), ("-r", "--rounds", 3), ("-t", "--threads", 2)):
        parser.add_argument(flag, name, type=int, default=value)
    args = parser.parse_args()
    small, args.state = args.model + ".small", args.model + ".state"
    n_context = args.depth + args.prompt + args.gen + 256
    lib = open_library(os.environ["LLAMA_BACKENDS"])
    subprocess.run([args.make_model, "--real", "--layers", "4", "--width", "256", "--ffn", "256",
                    "-o", small], check=True)
    peer = Peer(lib, small, n_context, args.threads)
    peer.evaluate(0, args.depth, 2048)
    tokens = (ctypes.c_int32 * 1)()
    assert lib.llama_state_save_file(peer.context, args.state.encode(), tokens, 1)
    peer.close()
    ours, theirs = [], []
    for i in range(args.rounds):
        ours.append(run_glint(args))
        theirs.append(run_peer(lib, args, n_context))
        print(f"round {i + 1}: glint {ours[-1][0]:.1f} / {ours[-1][1]:.2f}, "
              f"peer {theirs[-1][0]:.1f} / {theirs[-1][1]:.2f} tok/s", flush=True)
    os.remove(small)
    os.remove(args.state)
    for k, name in ((0, f"prefill {args.prompt} at depth {args.depth}"),
                    (1, f"decode at depth {args.depth + args.prompt}")):
        a, b = [x[k] for x in ours], [x[k] for x in theirs]
        ratio = [x / y for x, y in zip(a, b)]
        print(f"{name}: glint {statistics.median(a):.2f}, peer {statistics.median(b):.2f} tok/s, "
              f"ratio {statistics.median(ratio):.2f} ({min(ratio):.2f} to {max(ratio):.2f})")


if __name__ == "__main__":
    main()
