# SPDX-License-Identifier: Apache-2.0
"""Trains glimmer-mini (text and vision together) for a given number of seconds, with evaluation on held-out conversations.

    python3 train.py TOKENIZER_DIR STATE_DIR SECONDS [--resume FILE]

STATE_DIR receives state.pt (weights in bfloat16, every few minutes and at the end), log.txt and eval.txt. The learning rate follows the share
of the time that has passed, so a run always ends cooled down. One process feeds the GPU; the others generate conversations.
"""
import collections
import multiprocessing as mp
import os
import sys
import time
import torch
from batch import Loader, target_rows
from mini_model import Mini, Shape
from optimizer import Optimizer, mini_rates
import rows

CHUNKS = int(os.environ.get("CHUNKS", 16))
STRONG = 3.0                                                # weight of answers that depend on far-away text


def schedule(p):
    """Share of the full rate at progress p in 0..1."""
    if p < 0.015:
        return 0.05 + 0.95 * p / 0.015
    return 1.0 if p < 0.5 else max(0.02, 1 - (p - 0.5) / 0.5 * 0.98)


def prompt_weight(p):
    return 0.3 if p < 0.05 else max(0.02, 0.3 - (p - 0.05) / 0.15 * 0.28)


def loss_of(m, o, dtype, pw):
    z, _ = target_rows(m, o, dtype)
    w = torch.stack([pw, torch.ones_like(pw), torch.ones_like(pw) * STRONG, torch.zeros_like(pw)])[o["cls"].roll(-1).long()]
    return m.fn["head_loss"](z, m.lm_head.weight, o["ids"].roll(-1), w, m.multiplier())


def evaluate(m, loader, held, dtype):
    """Share of held-out turns whose every token is the most likely one (greedy decoding gives exactly that turn)."""
    good, all_ = collections.Counter(), collections.Counter()
    for b in held:
        o = loader(b, m.s.window)
        with torch.enable_grad():                          # the compiled pieces are those of training
            _, hit = loss_of(m, o, dtype, torch.zeros((), device=loader.device))
        hit = hit.roll(1).cumsum(0)
        f, e = (torch.tensor(x, device=hit.device) for x in zip(*[(t[0], t[1]) for t in b["turns"]]))
        ok = (hit[e - 1] - hit[f - 1]) == e - f
        for t, k in zip(b["turns"], ok.tolist()):
            good[t[2]] += k
            all_[t[2]] += 1
    return {k: (good[k] / all_[k], all_[k]) for k in sorted(all_)}


def show(r):
    return "  ".join("%s %.3f/%d" % (k, a, n) for k, (a, n) in r.items())


def held_out(tokenizer, queue, n, seed):
    b = rows.Builder(seed, tokenizer, 0.35)
    queue.put([rows.join([b.chunk() for _ in range(CHUNKS)]) for _ in range(n)])


def start_workers(tokenizer, n, seed, long_share=0.15):
    ctx = mp.get_context("fork")
    q, hq = ctx.Queue(maxsize=40), ctx.Queue()
    ps = [ctx.Process(target=rows.worker, args=(seed + i, tokenizer, q, CHUNKS, long_share), daemon=True) for i in range(n)]
    ps.append(ctx.Process(target=held_out, args=(tokenizer, hq, int(os.environ.get("HELD", 14)), 10 ** 9), daemon=True))
    for p in ps:
        p.start()
    return q, hq


def save(m, path):
    torch.save({k: v.detach().to(torch.bfloat16).cpu() for k, v in m.state_dict().items()}, path + ".part")
    os.replace(path + ".part", path)


def main():
    tokenizer, out, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    os.makedirs(out, exist_ok=True)
    begin, first = time.time(), float(os.environ.get("PROGRESS", 0))      # PROGRESS: where a continued run stands in the schedule
    q, hq = start_workers(tokenizer, int(os.environ.get("WORKERS", 13)), 1 + int(first * 1000) * 1000)
    cuda = torch.cuda.is_available()
    dev, dtype = ("cuda", torch.bfloat16) if cuda else ("cpu", torch.float32)
    torch.manual_seed(1)
    s = Shape() if cuda else Shape(layers=4, hidden=64, heads=4, kv=2, hd=16, ffn=64, vh=32, vl=2, vheads=2, vff=64, proj=32)
    m = Mini(s).to(dev)
    if "--resume" in sys.argv:
        m.load_state_dict(torch.load(sys.argv[sys.argv.index("--resume") + 1]))
    if cuda:
        m.compile()
    loader = Loader(dev, dtype)
    opt = Optimizer(list(m.named_parameters()), adam_lr=mini_rates)
    log = lambda *a: (print(*a, flush=True), print(*a, file=open(os.path.join(out, "log.txt"), "a")))
    log("parameters", sum(p.numel() for p in m.parameters()), "start-up %.1f s" % (time.time() - begin))
    held, step, seen, t_log, t_eval, t_save = None, 0, 0, time.time(), time.time(), time.time()
    total, every = None, int(os.environ.get("LOG", 100))
    last = 0
    while True:
        now = time.time()
        p = first + (1 - first) * (now - begin) / seconds
        if p >= 1:
            break
        b = q.get()
        o = loader(b, s.window)
        loss, _ = loss_of(m, o, dtype, torch.full((), prompt_weight(p), device=dev))
        loss.backward()
        opt.step(schedule(p))
        opt.zero()
        total = loss.detach() if total is None else total + loss.detach()
        step += 1
        if step in (1, 2, 3, 10) or step % every == 0:
            l = float(total) / (step - last)
            now = time.time()
            log("step %d  progress %.3f  loss %.4f  %.0f tok/s  queue %d" % (step, p, l, (step - last) * CHUNKS * rows.CHUNK / (now - t_log), q.qsize()))
            total, last, t_log = None, step, now
        if now - t_eval > float(os.environ.get("EVAL", 150)):
            held = held or hq.get()
            log("EVAL %.3f " % p + show(evaluate(m, loader, held, dtype)))
            t_eval = t_log = time.time()
            save(m, os.path.join(out, "state.pt"))
    save(m, os.path.join(out, "state.pt"))
    m.load_state_dict(torch.load(os.path.join(out, "state.pt")))          # the rounded weights are what ships
    held = held or hq.get()
    log("FINAL steps %d  tokens %d  " % (step, step * CHUNKS * rows.CHUNK) + show(evaluate(m, loader, held, dtype)))
    open(os.path.join(out, "trained"), "w").write("ok")


if __name__ == "__main__":
    main()
