# SPDX-License-Identifier: Apache-2.0
"""A joined batch of arrays -> tensors on the device, pictures drawn there."""
import torch
from mini_model import Packed
from pictures import REACH, SIDE, build_atlas


def paint(items, image, p_image, p_yx, atlas):
    """Patches [P, 588] in -1..1, as the image processor makes them from 8-bit pixels. The same drawing as pictures.draw."""
    dev = items.device
    k = torch.arange(196, device=dev)
    x = p_yx[:, 1:].float() * 14 + (k % 14)[None] + 0.5
    y = p_yx[:, :1].float() * 14 + torch.div(k, 14, rounding_mode="floor")[None] + 0.5
    im, its = image[p_image.long()], items[p_image.long()]
    rgb = [im[:, c:c + 1].expand(-1, 196) for c in range(3)]
    for j in range(items.shape[1]):
        q = its[:, j]
        dx, dy, size = x - q[:, 1:2], y - q[:, 2:3], q[:, 3:4].clamp(min=1.0)
        c, s = q[:, 4:5], q[:, 5:6]
        u = ((dx * c + dy * s) / size + REACH) / (2 * REACH) * SIDE - 0.5
        v = ((dy * c - dx * s) / size + REACH) / (2 * REACH) * SIDE - 0.5
        ok = (u >= 0) & (u < SIDE - 1) & (v >= 0) & (v < SIDE - 1) & (q[:, :1] >= 0)
        u, v = u.clamp(0, SIDE - 1.001), v.clamp(0, SIDE - 1.001)
        i0, j0 = u.floor(), v.floor()
        f, g = u - i0, v - j0
        at = (q[:, :1].clamp(min=0) * (SIDE * SIDE) + j0 * SIDE + i0).long()
        d = (atlas[at] * (1 - f) + atlas[at + 1] * f) * (1 - g) + (atlas[at + SIDE] * (1 - f) + atlas[at + SIDE + 1] * f) * g
        a = torch.where(ok, (0.5 - d * size / im[:, 3:4]).clamp(0, 1), torch.zeros_like(d))
        rgb = [p + (q[:, 6 + n:7 + n] - p) * a for n, p in enumerate(rgb)]
    px = torch.cat(rgb, 1)
    px = px + (torch.rand_like(px) * 2 - 1) * im[:, 4:5]
    return torch.floor(px + 0.5).clamp(0, 255) / 127.5 - 1


class Loader:
    def __init__(self, device, dtype):
        self.device, self.dtype = device, dtype
        self.atlas = torch.tensor(build_atlas(), dtype=torch.float32, device=device).reshape(-1)
        self.paint = torch.compile(paint, dynamic=False) if str(device).startswith("cuda") else paint

    def __call__(self, b, window):
        t = {k: torch.from_numpy(v).to(self.device, non_blocking=True) for k, v in b.items() if hasattr(v, "dtype")}
        o = {"ids": t["ids"].long(), "cls": t["cls"], "pos": t["pos"].long(), "src": t["src"].long(), "dst": t["dst"].long(), "turns": b["turns"]}
        o["docs"] = Packed(t["cuts"], b["cuts_max"], window)
        o["pictures"] = Packed(t["i_cuts"], b["i_cuts_max"], causal=False)
        with torch.no_grad():
            o["pixels"] = self.paint(t["items"], t["image"], t["p_image"], t["p_yx"], self.atlas).to(self.dtype)
            g = t["grid"][t["p_image"].long()].long()
        o["y"], o["x"], o["gh"], o["gw"] = t["p_yx"][:, 0].long(), t["p_yx"][:, 1].long(), g[:, 0], g[:, 1]
        return o


def target_rows(m, o, dtype, taps=()):
    """Forward pass of the target over a batch."""
    f = m.features(o["pixels"], o["y"], o["x"], o["gh"], o["gw"], o["pictures"], o["src"])
    h = m.embed(o["ids"], dtype).index_put((o["dst"],), f)
    return m.rows(h, o["pos"], o["docs"], taps)
