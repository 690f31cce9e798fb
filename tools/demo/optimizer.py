# SPDX-License-Identifier: Apache-2.0
"""Muon for the matrices inside the layers (momentum, then an approximate orthogonalisation by five
Newton-Schulz steps), AdamW for embeddings, head, gains and biases. Same-shaped matrices are stacked, so a
step is a few batched products."""
import torch


def orthogonalise(g):
    """g [n, r, c]: singular values pushed towards 1 (quintic Newton-Schulz iteration in bfloat16)."""
    x = g.to(torch.bfloat16)
    flip = x.shape[1] > x.shape[2]
    if flip:
        x = x.transpose(1, 2)
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return (x.transpose(1, 2) if flip else x).float()


class Optimizer:
    def __init__(self, named, lr_matrix=0.02, decay=0.02, beta=0.95, adam_lr=None):
        """named: list of (name, parameter). adam_lr: function name -> rate, or None for a Muon matrix."""
        self.decay, self.beta, self.lr_matrix = decay, beta, lr_matrix
        self.groups, self.adam = {}, {}
        for n, p in named:
            lr = adam_lr(n, p)
            if lr is None:
                self.groups.setdefault(tuple(p.shape), []).append(p)
            else:
                self.adam.setdefault(lr, []).append(p)
        self.mom = {s: torch.zeros((len(ps),) + s, device=ps[0].device) for s, ps in self.groups.items()}
        self.adamw = torch.optim.AdamW([{"params": ps, "lr": lr, "base": lr} for lr, ps in self.adam.items()],
                                       betas=(0.9, 0.95), eps=1e-10, weight_decay=0.0)
        self.core = orthogonalise

    @torch.no_grad()
    def step(self, scale):
        for g in self.adamw.param_groups:
            g["lr"] = g["base"] * scale
        self.adamw.step()
        for s, ps in self.groups.items():
            g, m = torch.stack([p.grad for p in ps]).float(), self.mom[s]
            m.lerp_(g, 1 - self.beta)
            u = self.core(g.lerp(m, self.beta))
            lr = self.lr_matrix * scale
            u.mul_(-lr * max(1.0, s[0] / s[1]) ** 0.5)
            torch._foreach_mul_(ps, 1 - lr * self.decay)
            torch._foreach_add_(ps, list(u.unbind(0)))

    def zero(self):
        for ps in list(self.groups.values()) + list(self.adam.values()):
            for p in ps:
                p.grad = None

    def state(self):
        return {"mom": self.mom, "adam": self.adamw.state_dict()}

    def load(self, st):
        for k, v in st["mom"].items():
            self.mom[k].copy_(v)
        self.adamw.load_state_dict(st["adam"])


def mini_rates(n, p):
    """Adam rates of the target by parameter name; None: a Muon matrix."""
    if "embed_tokens" in n:
        return 3e-3
    if "lm_head" in n:
        return 2e-3
    if "position_embedding" in n:
        return 2e-3
    if "patch_embedding" in n:
        return 1e-3
    if p.ndim == 1:
        return 3e-3
    return None
