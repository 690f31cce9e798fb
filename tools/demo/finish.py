# SPDX-License-Identifier: Apache-2.0
"""After training: the official checkpoint directories, golden logits, and checks with the official classes in float32.

    python3 finish.py TOKENIZER_DIR STATE_DIR OUT_DIR

OUT_DIR/mini (target with tokenizer and template), OUT_DIR/mini/assistant (drafter), OUT_DIR/golden.safetensors: for k = 0..19
`k.ids` (the prompt), `k.logits` (its last 8 positions), `k.greedy` (24 more tokens at most) and, with a picture, `k.rgb` [h, w, 3] and `k.grid`.
"""
import os
import random
import shutil
import sys
import time
import torch
from safetensors.torch import save_file
import bpe
from bpe import SPECIAL_ID
from check_official import drafter_rows, official, official_drafter, one_document, worst, write_checkpoint, write_drafter
from mini_model import Drafter, Mini, Shape
from pictures import build_atlas, draw
from token_rows import PAD, prompts

EOT, IMG = SPECIAL_ID["<|eot|>"], SPECIAL_ID["<|patch|>"]


def pixels(scene, atlas):
    from transformers import MuseGlimmerImageProcessor
    rgb = torch.tensor(list(draw(scene, atlas)), dtype=torch.uint8).view(scene["h"], scene["w"], 3)
    r = MuseGlimmerImageProcessor(max_image_tokens=4096)(images=[rgb.permute(2, 0, 1).contiguous()], return_tensors="pt", do_resize=False)
    return rgb, r["pixel_values"].float(), r["image_grid_thw"]


@torch.no_grad()
def golden(m, enc, out):
    rng, atlas, g, right = random.Random(2 * 10 ** 9), build_atlas(), {}, 0
    kinds = ["fresh", "everyday", "text", "text", "chat", "find", "obey", "mix", "text", "fresh"] + ["picture"] * 10
    for k, want in enumerate(kinds):
        ids, scene, expect, skill = prompts(enc, rng, want)
        kw, t = {}, torch.tensor([ids])
        if scene:
            rgb, px, grid = pixels(scene, atlas)
            kw = {"pixel_values": px, "image_grid_thw": grid}
            g["%d.rgb" % k], g["%d.grid" % k] = rgb, grid[0].int()
        g["%d.ids" % k] = t[0].int()
        g["%d.logits" % k] = m(input_ids=t, **kw).logits[0, -8:].contiguous()
        o = m.generate(input_ids=t, max_new_tokens=len(expect) + 2, do_sample=False, eos_token_id=[EOT], pad_token_id=PAD, **kw)[0, len(ids):]
        g["%d.greedy" % k] = o[:24].int().clone()
        ok = o.tolist() == expect
        right += ok
        print("prompt %d %s %s: %r%s" % (k, want, "ok" if ok else "WRONG", enc.decode(o.tolist())[:300], "" if ok else "  expected %r" % enc.decode(expect)[:300]), flush=True)
    save_file(g, os.path.join(out, "golden.safetensors"))
    print("greedy turns right: %d of %d" % (right, len(kinds)))


@torch.no_grad()
def drafter_check(mini, d, m, a):
    """Our drafter against the official one past the window, in float32."""
    s, n = mini.s, 700
    ids = torch.randint(0, 4000, (n,))
    pos, docs = one_document(n, s, "cpu")
    _, taps = mini.rows(mini.embed(ids, torch.float32), pos, docs, s.taps)
    emb = mini.model.language_model.embed_tokens.weight
    toks = torch.tensor([[int(ids[-1])] + [SPECIAL_ID["<|reserved_special_token_1818|>"]] * 15])
    x, ctx = emb[toks], torch.cat(taps, -1)
    h = n - 1                                                               # rows known before the anchor
    ours = d(x, torch.arange(h, h + 16)[None], ctx, pos, torch.tensor([h]), torch.tensor([0]))
    print("drafter rows, ours against official:", worst(ours, drafter_rows(a, x, ctx[None, :h])))


def assisted(m, a, enc):
    """Accepted proposals per round of the official assisted generation, greedy, on held-out turns without pictures."""
    from transformers.generation.candidate_generator import DFlashTokenCandidateGenerator as Official
    inner, rounds = Official.get_candidates, []

    def spy(self, input_ids, *args, **kw):
        c, lg = inner(self, input_ids, *args, **kw)
        if lg is not None:
            rounds.append(input_ids.shape[1])
        return c, lg
    Official.get_candidates = spy
    rng, total, n_rounds = random.Random(3 * 10 ** 9), 0, 0
    for want in ["fresh", "everyday", "chat", "text", "fresh", "everyday", "chat", "text", "fresh", "everyday"]:
        ids, _, expect, _ = prompts(enc, rng, want)
        rounds.clear()
        o = m.generate(input_ids=torch.tensor([ids]), assistant_model=a, speculation_type="dflash", max_new_tokens=len(expect) + 2, do_sample=False,
                       eos_token_id=[EOT], pad_token_id=PAD)[0]
        new = o.shape[0] - len(ids)
        total, n_rounds = total + new, n_rounds + len(rounds)
        print("assisted %s: %d tokens in %d rounds" % (want, new, len(rounds)), flush=True)
    print("accepted per round: %.2f" % (total / max(1, n_rounds) - 1))


def main():
    tokenizer, state, out = sys.argv[1:4]
    enc, t0 = bpe.load(tokenizer), time.time()
    torch.set_num_threads(int(os.environ.get("THREADS", 8)))
    s = Shape()
    mini = Mini(s)
    mini.load_state_dict({k: v.float() for k, v in torch.load(os.path.join(state, "state.pt")).items()})
    folder = os.path.join(out, "mini")
    write_checkpoint(mini, SPECIAL_ID, folder)
    for f in os.listdir(tokenizer):
        shutil.copy(os.path.join(tokenizer, f), folder)
    m = official(mini, SPECIAL_ID)
    if not os.path.exists(os.path.join(out, "golden.safetensors")):
        golden(m, enc, out)
    print("%.1f s" % (time.time() - t0))
    if os.path.exists(os.path.join(state, "drafter.pt")):
        d = Drafter(s)
        d.load_state_dict({k: v.float() for k, v in torch.load(os.path.join(state, "drafter.pt")).items()})
        write_drafter(d, SPECIAL_ID, os.path.join(folder, "assistant"))
        a = official_drafter(d, SPECIAL_ID)
        for check in (lambda: drafter_check(mini, d, m, a), lambda: assisted(m, a, enc)):
            try:
                check()
            except Exception as e:                                          # a failed check must not lose the checkpoint
                print("check failed:", repr(e)[:500])
    print("%.1f s" % (time.time() - t0))


if __name__ == "__main__":
    main()
