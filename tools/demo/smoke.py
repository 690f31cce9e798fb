# SPDX-License-Identifier: Apache-2.0
"""Equivalence of an untrained model with the official classes, on the GPU, and a profile of one training step."""
import random
import sys
import torch
from batch import Loader
from bpe import SPECIAL_ID
from check_official import compare
from mini_model import Mini, Shape
from optimizer import Optimizer, mini_rates
import rows
import train

torch.manual_seed(0)
m = Mini(Shape()).cuda()
print("parameters", sum(p.numel() for p in m.parameters()), "text", sum(p.numel() for n, p in m.named_parameters() if "vision" not in n))
with torch.no_grad():
    for p in m.parameters():                                        # every gain off its resting value for the comparison
        if p.ndim == 1:
            p.add_(0.1 * torch.randn_like(p))
print("official", compare(m, SPECIAL_ID), flush=True)
if len(sys.argv) > 2:
    m.compile()
    q, _ = train.start_workers(sys.argv[1], 3, 1)
    loader, opt = Loader("cuda", torch.bfloat16), Optimizer(list(m.named_parameters()), adam_lr=mini_rates)
    def step():
        o = loader(q.get(), m.s.window)
        train.loss_of(m, o, torch.bfloat16, torch.full((), 0.1, device="cuda"))[0].backward()
        opt.step(0.1)
        opt.zero()
    for _ in range(4):
        step()
    torch.cuda.synchronize()
    from torch.profiler import profile, ProfilerActivity
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as prof:
        for _ in range(3):
            step()
        torch.cuda.synchronize()
    print("memory GiB", torch.cuda.max_memory_allocated() / 2 ** 30)
    print(prof.key_averages().table(sort_by="cuda_time_total", row_limit=32, max_name_column_width=60))
