#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the server adds to the engine.

usage: bench/server_overhead.py GLINT [-n PROBES] [-s SECONDS]

1. First token: a model that says one text (tests/server/script_model.py) takes next to no time for
   a step. While 15 streams run, a sixteenth is asked for again and again: from sending the request
   to its first token, less the prefill that the server reports.
2. Threads: 16 streams of the demo model on one thread without its best instructions, slow enough
   that each token is written by itself. The processor time of all threads but the engine's, for a
   token, and as a share of a core at 16 x 20 tokens a second.
"""
import argparse
import http.client
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/server"))
CHAT = "/v1/chat/completions"
STREAMS = 16
LIMITS = {"first token": 5.0, "threads": 5.0}


def body_of(**fields):
    return {"messages": [{"role": "user", "content": "Who are you?"}], "temperature": 0,
            "stream": True, **fields}


def stream_forever(port, body):
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("POST", CHAT, body)
        answer = connection.getresponse()
        while answer.read1(65536):
            pass
        connection.close()


def stream_many(port, n, body):
    for _ in range(n):
        threading.Thread(target=stream_forever, args=(port, body)).start()


def streams(server, n, **fields):
    """n streams, asked for again when they end, read and dropped in a process of its own."""
    process = multiprocessing.get_context("fork").Process(
        target=stream_many, args=(server.port, n, json.dumps(body_of(**fields))))
    process.start()
    return process


def first_token(server):
    """(ms to the first token, ms of prefill)"""
    connection = server.connect()
    connection.connect()
    began = time.perf_counter()
    connection.request("POST", CHAT, json.dumps(body_of(max_tokens=4)))
    answer, first, last = connection.getresponse(), None, None
    for line in answer:
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        last = event
        if first is None and event["choices"] and event["choices"][0]["delta"].get("content"):
            first = time.perf_counter()
    connection.close()
    return (first - began) * 1e3, last["timings"]["prompt_ms"]


def measure_first_token(program, n):
    from script_model import write_script
    from serving import serving
    draw = random.Random(1)
    text = "".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(500)).encode()
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "script.gguf")
        write_script(model, ["<|message|>", text, "<|eot|>"], context=8192)
        with serving("-np", str(STREAMS), "--cache-size", "100000", model=model,
                     command=(program,)) as server:
            for _ in range(3):
                first_token(server)
            alone = [a - b for a, b in (first_token(server) for _ in range(n))]
            others = streams(server, STREAMS - 1, max_tokens=4000)
            time.sleep(1)
            crowded = [a - b for a, b in (first_token(server) for _ in range(n))]
            others.kill()
            others.join()
    for name, values in (("alone", alone), (f"beside {STREAMS - 1} streams", crowded)):
        values.sort()
        print(f"first token less prefill, {name}: median {statistics.median(values):.2f} ms, "
              f"90 % under {values[len(values) * 9 // 10]:.2f} ms")
    return statistics.median(crowded)


def thread_seconds(server):
    """Processor seconds of each thread."""
    tick, out = os.sysconf("SC_CLK_TCK"), {}
    folder = f"/proc/{server.process.pid}/task"
    for name in os.listdir(folder):
        with open(f"{folder}/{name}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        out[name] = (int(fields[11]) + int(fields[12])) / tick
    return out


def measure_threads(program, seconds):
    from serving import serving
    with serving("-np", str(STREAMS), "-t", "1", "--cpu-tier", "avx2", "--no-draft",
                 "--cache-size", "65536", command=(program,)) as server:
        others = streams(server, STREAMS, max_tokens=400)
        while server.metric("requests_running") < STREAMS or server.metric("requests_waiting"):
            time.sleep(0.1)
        time.sleep(1)
        before, rows = thread_seconds(server), server.metric("decode_rows_total")
        steps = server.metric("decode_steps_total")
        began = time.time()
        time.sleep(seconds)
        after = thread_seconds(server)
        rows = server.metric("decode_rows_total") - rows
        steps = server.metric("decode_steps_total") - steps
        took = time.time() - began
        others.kill()
        others.join()
    spent = sorted(after[name] - before.get(name, 0) for name in after)
    each = sum(spent[:-1]) / rows
    share = each * STREAMS * 20 * 100
    print(f"threads: {rows / took:.0f} tokens a second in {steps / took:.0f} steps, "
          f"{each * 1e6:.0f} us of all threads but the engine's for each: "
          f"{share:.2f} % of a core at {STREAMS} x 20 tokens a second")
    return share


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("glint")
    parser.add_argument("-n", type=int, default=100, help="probes of the first token")
    parser.add_argument("-s", type=float, default=20, help="seconds of streams")
    args = parser.parse_args()
    found = {"first token": measure_first_token(args.glint, args.n),
             "threads": measure_threads(args.glint, args.s)}
    over = [name for name in LIMITS if found[name] > LIMITS[name]]
    print("over the limit: " + ", ".join(over) if over else "all within the limits")
    sys.exit(bool(over))


if __name__ == "__main__":
    main()
