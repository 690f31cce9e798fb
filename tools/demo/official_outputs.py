#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the official classes compute, in float32, from the weights that the shipped GGUF files hold. Needs torch and transformers 5.17.

    python3 tools/demo/official_outputs.py MODEL.gguf MODEL-mmproj.gguf PROMPTS.safetensors OUT.safetensors

PROMPTS has `k.ids` and, for prompts with a picture, `k.rgb` (finish.py wrote it: tests/golden/mini/golden.safetensors). OUT gets
`k.logits`, the last 8 positions, and `k.greedy`, the next tokens, as many as PROMPTS has. On a GPU the same logits are computed once
more there, to show how far two correct float32 runs are apart.
"""
import sys
import tempfile
import torch
from safetensors.torch import load_file, save_file
from decode_gguf import decode


def inputs(prompts, k, device):
    from transformers import MuseGlimmerImageProcessor
    kw = {"input_ids": prompts["%d.ids" % k].long()[None].to(device)}
    if "%d.rgb" % k in prompts:
        picture = prompts["%d.rgb" % k].permute(2, 0, 1).contiguous()
        r = MuseGlimmerImageProcessor(max_image_tokens=4096)(images=[picture], return_tensors="pt", do_resize=False)
        kw.update(pixel_values=r["pixel_values"].float().to(device), image_grid_thw=r["image_grid_thw"].to(device))
    return kw


@torch.no_grad()
def main(model, mmproj, prompts, out):
    from transformers import MuseGlimmerForConditionalGeneration
    prompts, g = load_file(prompts), {}
    with tempfile.TemporaryDirectory() as folder:
        decode(model, mmproj, folder)
        m = MuseGlimmerForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    n = sum(k.endswith(".ids") for k in prompts)
    for k in range(n):
        kw, old = inputs(prompts, k, "cpu"), prompts["%d.greedy" % k]
        g["%d.logits" % k] = m(**kw).logits[0, -8:].float().contiguous()
        new = m.generate(**kw, max_new_tokens=len(old), min_new_tokens=len(old), do_sample=False)[0, kw["input_ids"].shape[1]:]
        g["%d.greedy" % k] = new.int().contiguous()
        print("prompt %d: %s the unquantized model's tokens" % (k, "as" if new.tolist() == old.tolist() else "not"), flush=True)
    save_file(g, out)
    if torch.cuda.is_available():
        m, worst = m.to("cuda"), 0.0
        for k in range(n):
            worst = max(worst, float((m(**inputs(prompts, k, "cuda")).logits[0, -8:].cpu() - g["%d.logits" % k]).abs().max()))
        print("largest logit difference between CPU and GPU:", worst)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
