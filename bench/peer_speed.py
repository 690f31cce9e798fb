#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prefill and decode speed of glint beside a llama.cpp probe, on the same file, in turn.

usage: bench/peer_speed.py GLINT PROBE MODEL.gguf [-r ROUNDS] [-t THREADS] [-p 512] [-n 32]
(LLAMA_BACKENDS set as the probe wants)

Each round runs glint, then the probe (`PROBE MODEL bench N_PROMPT N_GEN THREADS CONTEXT`): a
prefill of -p tokens, then -n tokens decoded behind it. Prints medians, the spread, the ratio round
by round, and glint's peak resident memory against the file, the cache and 300 MB. `make_model
--real --layers 4 -o MODEL.gguf` makes the file that docs/performance.md speaks of.
"""
import argparse, json, os, re, resource, statistics, subprocess


def run_glint(args):
    common = [args.glint, "bench", "-m", args.model, "-t", str(args.threads)]
    common += ["-r", "1", "--json", "-q"]
    out = {}
    for key, flags in (("prefill", ["-p", str(args.prompt), "-n", "0"]),
                       ("decode", ["-p", "0", "-n", str(args.gen), "-d", str(args.prompt)])):
        text = subprocess.run(common + flags, check=True, capture_output=True, text=True).stdout
        out[key] = json.loads(text)["results"][0]["tok_s"]
        out[key + "_of_peak"] = json.loads(text)["results"][0]["of_peak"]
    return out


def run_peer(args):
    context = str(args.prompt + args.gen + 64)
    command = [args.probe, args.model, "bench", str(args.prompt), str(args.gen)]
    command += [str(args.threads), context]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rates = re.findall(r"([0-9.]+) tok/s", text)
    return {"prefill": float(rates[0]), "decode": float(rates[1])}


def peak_memory(args):
    """Peak resident bytes of one run of glint, and what the issue allows it."""
    command = [args.glint, "inspect", args.model, "--json", "-c", "1024"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    inspect = json.loads(text)
    command = [args.glint, "run", "-m", args.model, "--prompt-ids", ",".join(["5"] * 512)]
    command += ["-n", "4", "--ids", "--ignore-eos", "-c", "1024", "-q", "-t", str(args.threads)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return peak, inspect["bytes"] + inspect["memory"]["cache"] + 300_000_000


def main():
    parser = argparse.ArgumentParser()
    for name in ("glint", "probe", "model"):
        parser.add_argument(name)
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-p", "--prompt", type=int, default=512)
    parser.add_argument("-n", "--gen", type=int, default=32)
    args = parser.parse_args()
    peak, allowed = peak_memory(args)
    print(f"peak resident {peak / 1e6:.0f} MB, allowed {allowed / 1e6:.0f} MB "
          "(file + cache + 300 MB)")
    ours, theirs = [], []
    for i in range(args.rounds):
        ours.append(run_glint(args))
        theirs.append(run_peer(args))
        print(f"round {i + 1}: glint {ours[-1]['prefill']:.1f} / {ours[-1]['decode']:.2f}, "
              f"peer {theirs[-1]['prefill']:.1f} / {theirs[-1]['decode']:.2f} tok/s", flush=True)
    for key in ("prefill", "decode"):
        a, b = [x[key] for x in ours], [x[key] for x in theirs]
        ratio = [x / y for x, y in zip(a, b)]
        print(f"{key:8} glint {statistics.median(a):7.2f} ({min(a):.2f} to {max(a):.2f})  "
              f"peer {statistics.median(b):7.2f} ({min(b):.2f} to {max(b):.2f})  "
              f"ratio {statistics.median(ratio):.2f} ({min(ratio):.2f} to {max(ratio):.2f})")
    share = [x["decode_of_peak"] for x in ours]
    print(f"decode reads at {100 * statistics.median(share):.0f} % of the measured streaming read")


if __name__ == "__main__":
    main()
