# SPDX-License-Identifier: Apache-2.0
"""Trains the DFlash drafter on the hidden rows of the finished target.

    python3 train_drafter.py TOKENIZER_DIR STATE_DIR SECONDS

Reads STATE_DIR/state.pt, writes STATE_DIR/drafter.pt. Each step runs the target over a batch, picks tokens that the assistant wrote as
anchors, and asks the drafter for the 15 tokens that follow each.
"""
import os
import sys
import time
import torch
from batch import Loader, target_rows
from bpe import SPECIAL_ID
from mini_model import Drafter, Mini, Shape
from optimizer import Optimizer
from train import save, schedule, start_workers

ANCHORS = int(os.environ.get("ANCHORS", 2048))
MASK = SPECIAL_ID["<|reserved_special_token_1818|>"]


def blocks(o, s):
    """Random anchors of a batch: rows, first rows of their documents, labels [A, 15] and how far they count [A, 15]."""
    ids, cls, pos = o["ids"], o["cls"].long(), o["pos"]
    n = ids.shape[0]
    own = (cls == 1) | (cls == 2)
    cand = (own.roll(-1) & (pos > 0) & (torch.arange(n, device=ids.device) < n - 17)).nonzero()[:, 0]
    at = cand[torch.randint(0, len(cand), (ANCHORS,), device=ids.device)]
    nxt = at[:, None] + torch.arange(1, s.block, device=ids.device)[None]
    live = (own[nxt] & (pos[nxt] == pos[at][:, None] + torch.arange(1, s.block, device=ids.device)[None])).cumprod(1).bool()
    return at, at - pos[at], ids[nxt], live


def block_loss(d, embed, head, anchor, at, first, pos, ctx, label, live, decay):
    s = d.s
    toks = torch.cat([anchor[:, None], torch.full_like(label, MASK)], 1)
    x = torch.nn.functional.embedding(toks, embed).to(ctx.dtype)
    x_pos = pos[at][:, None] + torch.arange(s.block, device=at.device)[None]
    z = d(x, x_pos, ctx, pos, at, first)[:, 1:]
    lg = (z.reshape(-1, s.hidden) @ head.t().to(z.dtype)).float()
    lse = torch.logsumexp(lg, -1) - lg.gather(1, label.reshape(-1, 1))[:, 0]
    w = live.float() * decay
    hit = ((lg.argmax(-1).view_as(label) == label) & live).long().cumprod(1).sum(1)
    return (lse.view_as(w) * w).sum() / w.sum(), hit.float().mean(), live.float().sum(1).mean()


def main():
    tokenizer, out, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    begin = time.time()
    q, _ = start_workers(tokenizer, int(os.environ.get("WORKERS", 13)), 5 * 10 ** 8, 0.08)
    cuda = torch.cuda.is_available()
    dev, dtype = ("cuda", torch.bfloat16) if cuda else ("cpu", torch.float32)
    s = Shape() if cuda else Shape(layers=4, hidden=64, heads=4, kv=2, hd=16, ffn=64, vh=32, vl=2, vheads=2, vff=64, proj=32, taps=(0, 1, 2), dffn=64, dwindow=64)
    m = Mini(s).to(dev)
    m.load_state_dict(torch.load(os.path.join(out, "state.pt")))
    m.requires_grad_(False)
    torch.manual_seed(2)
    d = Drafter(s).to(dev)
    loss_fn = block_loss
    if cuda:
        m.compile()
        loss_fn = torch.compile(block_loss, dynamic=False)
    opt = Optimizer(list(d.named_parameters()), adam_lr=lambda n, p: 3e-3 if p.ndim == 1 else None)
    loader, embed, head = Loader(dev, dtype), m.model.language_model.embed_tokens.weight, m.lm_head.weight
    decay = torch.exp(-torch.arange(s.block - 1, device=dev) / 7.0)[None]
    step, total, t_log = 0, torch.zeros(3, device=dev), time.time()
    while True:
        p = (time.time() - begin) / seconds
        if p >= 1:
            break
        o = loader(q.get(), s.window)
        with torch.no_grad():
            ctx = torch.cat(target_rows(m, o, dtype, s.taps)[1], -1)
        at, first, label, live = blocks(o, s)
        loss, hit, most = loss_fn(d, embed, head, o["ids"][at], at, first, o["pos"], ctx, label, live, decay)
        loss.backward()
        opt.step(schedule(p))
        opt.zero()
        total += torch.stack([loss.detach(), hit, most])
        step += 1
        if step in (1, 5) or step % int(os.environ.get("LOG", 200)) == 0:
            print("drafter step %d  progress %.3f  loss %.4f  accepted %.3f of at most %.2f  %.1f steps/s" % (
                step, p, *((total / (1 if step == 1 else 4 if step == 5 else int(os.environ.get("LOG", 200)))).tolist()), step / (time.time() - begin)), flush=True)
            total.zero_()
    save(d, os.path.join(out, "drafter.pt"))


if __name__ == "__main__":
    main()
