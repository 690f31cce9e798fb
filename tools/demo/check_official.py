# SPDX-License-Identifier: Apache-2.0
"""Loads our state dict into the official classes and compares float32 outputs: text past the window, two pictures,
drafter rounds. Also saves a checkpoint in the official directory layout."""
import os, torch
from transformers import MuseGlimmerConfig, MuseGlimmerForConditionalGeneration
from transformers.models.muse_glimmer_assistant.configuration_muse_glimmer_assistant import MuseGlimmerAssistantConfig
from transformers.models.muse_glimmer_assistant.modeling_muse_glimmer_assistant import MuseGlimmerAssistantModel
from mini_model import Packed, official_config, official_drafter_config


def official(mini, special, device="cpu"):
    cfg = MuseGlimmerConfig(**official_config(mini.s, special))
    cfg._attn_implementation = "eager"
    m = MuseGlimmerForConditionalGeneration._from_config(cfg, attn_implementation="eager", dtype=torch.float32).eval()
    missing, extra = m.load_state_dict(mini.state_dict(), strict=False)
    assert not missing and not extra, (missing[:5], extra[:5])
    return m.to(device)


def official_drafter(d, special, device="cpu"):
    cfg = MuseGlimmerAssistantConfig(**official_drafter_config(d.s, special))
    cfg._attn_implementation = "eager"
    a = MuseGlimmerAssistantModel._from_config(cfg, attn_implementation="eager", dtype=torch.float32).eval()
    missing, extra = a.load_state_dict(d.state_dict(), strict=False)
    assert not missing and not extra, (missing[:5], extra[:5])
    return a.to(device)


def drafter_rows(a, x, ctx):
    """The official drafter's rows for one block x [1, 16, H] behind context rows ctx [1, N, taps * H], called as the official generator calls it:
    without its cache the class sees no window, and all context rows."""
    from transformers.cache_utils import DFlashCache
    n = ctx.shape[1]
    cache = DFlashCache(config=a.config)
    cache.activate_past_recording()
    cache.set_previous_accepted_tokens(n)
    ones = torch.ones(1, n + x.shape[1], dtype=torch.long)
    return a(noise_embeds=x, context_hidden_states=ctx, position_ids=torch.arange(n + x.shape[1])[None], attention_mask=ones,
             past_key_values=cache).last_hidden_state


def worst(a, b):
    return float((a.float() - b.float()).abs().max())


def grid_fields(grids, device):
    """Per-patch place and grid, picture offsets and merge indices for pictures of (rows, columns) patches."""
    y, x, gh, gw, src, cuts = [], [], [], [], [], [0]
    for h, w in grids:
        one, n = torch.ones(h * w, dtype=torch.long), cuts[-1]
        y.append(torch.arange(h).repeat_interleave(w)); x.append(torch.arange(w).repeat(h)); gh.append(one * h); gw.append(one * w)
        base = n + (torch.arange(0, h, 2)[:, None] * w + torch.arange(0, w, 2)[None]).reshape(-1)
        src.append(torch.stack([base, base + 1, base + w, base + w + 1], -1))
        cuts.append(n + h * w)
    y, x, gh, gw, src = (torch.cat(t).to(device) for t in (y, x, gh, gw, src))
    return y, x, gh, gw, Packed(torch.tensor(cuts, dtype=torch.int32, device=device), max(h * w for h, w in grids), causal=False), src


def one_document(n, s, device):
    return torch.arange(n, device=device), Packed(torch.tensor([0, n], dtype=torch.int32, device=device), n, s.window)


@torch.no_grad()
def compare(mini, special, device="cuda"):
    s, out = mini.s, {}
    m = official(mini, special, device)
    ids = torch.randint(0, s.vocab - 64, (3 * s.window,), device=device)
    ref = m(input_ids=ids[None], output_hidden_states=True)
    pos, docs = one_document(len(ids), s, device)
    z, taps = mini.rows(mini.embed(ids, torch.float32), pos, docs, s.taps)
    out["text logits"] = worst(mini.logits(z), ref.logits[0])
    out["taps"] = max(worst(t, ref.hidden_states[k + 1][0]) for t, k in zip(taps, s.taps))
    if device == "cuda":                                                  # flash kernels, several documents in one batch
        cuts = torch.tensor([0, 300, 300, 301, 768], dtype=torch.int32, device=device)
        pos2 = torch.cat([torch.arange(300), torch.arange(1), torch.arange(467)]).to(device)
        zs = [mini.rows(mini.embed(ids, t), pos2, Packed(cuts, 467, s.window))[0] for t in (torch.float32, torch.bfloat16)]
        out["bf16 flash against float32, packed (mean)"] = float((mini.logits(zs[0]) - mini.logits(zs[1])).abs().mean())
        out["bf16 plain formula against float32 (mean)"] = None
        flash, Packed.attend = Packed.attend, lambda self, q, k, v, full, sc, f=Packed.attend: f(self, q.float(), k.float(), v.float(), full, sc).to(q.dtype)
        z3 = mini.rows(mini.embed(ids, torch.bfloat16), pos2, Packed(cuts, 467, s.window))[0]
        Packed.attend = flash
        out["bf16 plain formula against float32 (mean)"] = float((mini.logits(zs[0]) - mini.logits(z3)).abs().mean())
    y, x, gh, gw, pics, src = grid_fields([(8, 8), (12, 10)], device)
    px = torch.rand(len(y), 588, device=device) * 2 - 1
    img = special["<|patch|>"]
    mm = torch.cat([ids[:9], torch.full((16,), img, device=device), ids[9:20], torch.full((30,), img, device=device), ids[20:50]])
    ref = m(input_ids=mm[None], pixel_values=torch.cat([px, px], 1), image_grid_thw=torch.tensor([[1, 8, 8], [1, 12, 10]], device=device))
    h = mini.embed(mm, torch.float32).index_put(((mm == img).nonzero()[:, 0],), mini.features(px, y, x, gh, gw, pics, src))
    z, _ = mini.rows(h, *one_document(len(mm), s, device))
    out["picture logits"] = worst(mini.logits(z), ref.logits[0])
    return out


def write_checkpoint(mini, special, folder):
    m = official(mini, special).to(torch.bfloat16)
    m.generation_config.eos_token_id = [special["<|end_of_text|>"], special["<|eot|>"]]
    m.generation_config.bos_token_id = special["<|begin_of_text|>"]
    m.generation_config.pad_token_id = special["<|finetune_right_pad|>"]
    m.save_pretrained(folder, max_shard_size="14MB")
    from transformers import MuseGlimmerImageProcessor
    MuseGlimmerImageProcessor(max_image_tokens=4096).save_pretrained(folder)


def write_drafter(d, special, folder):
    official_drafter(d, special).to(torch.bfloat16).save_pretrained(folder)
