#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden data from the official Muse Glimmer implementation (transformers >= 5.17, torch).

Writes, under OUT/<name>/: a small random-weight checkpoint in the official Hugging Face layout
(config.json, model*.safetensors), a drafter checkpoint (assistant/), and golden.safetensors:
inputs and the official implementation's float32 outputs, computed on the CPU with eager attention.

    python3 make_golden.py OUT nano     every dimension small, windows of 16 tokens / 8x8 patches
    python3 make_golden.py OUT six|five|one|odd|deep    text only, a few hundred kB each: other depths, widths, head groups
    python3 make_golden.py OUT wide     real head geometry (32 query heads, 2 KV heads, 128 wide), text only, three shards
    python3 make_golden.py OUT NAME '{"seed": 9, "hidden": 192, ...}'    any other shape
"""
import sys, os, json
import torch
from safetensors.torch import save_file
import transformers
from transformers import MuseGlimmerConfig, MuseGlimmerForConditionalGeneration, MuseGlimmerImageProcessor
try:
    from transformers import MuseGlimmerVideoProcessor
except ImportError:
    from transformers.models.muse_glimmer.video_processing_muse_glimmer import MuseGlimmerVideoProcessor
from transformers.models.muse_glimmer_assistant.configuration_muse_glimmer_assistant import MuseGlimmerAssistantConfig
from transformers.models.muse_glimmer_assistant.modeling_muse_glimmer_assistant import MuseGlimmerAssistantModel

OUT, NAME = sys.argv[1], sys.argv[2]
SHAPES = {
    "nano": dict(hidden=128, layers=8, heads=8, kv=2, hd=32, ffn=384, win=16, vh=64, vl=6, vheads=4, vff=160, pos=8, proj=96,
                 dl=2, dkv=4, dwin=16, tl=[1, 3, 6]),
    # text only, small: depths whose layer pattern counts from the end, odd head groups and widths
    "six": dict(hidden=64, layers=6, heads=4, kv=2, hd=32, ffn=128, win=8, text_only=True, seed=11),
    "five": dict(hidden=64, layers=5, heads=4, kv=1, hd=64, ffn=96, win=16, text_only=True, seed=12),
    "one": dict(hidden=64, layers=1, heads=2, kv=2, hd=32, ffn=160, win=16, text_only=True, seed=13),
    "odd": dict(hidden=96, layers=3, heads=6, kv=3, hd=64, ffn=160, win=24, text_only=True, seed=14),
    "deep": dict(hidden=64, layers=12, heads=8, kv=2, hd=32, ffn=96, win=16, text_only=True, seed=15),
    "wide": dict(hidden=256, layers=4, heads=32, kv=2, hd=128, ffn=512, win=64, vh=32, vl=1, vheads=1, vff=32, pos=8, proj=32,
                 dl=2, dkv=8, dwin=64, tl=[0, 1, 2]),
}
VISION_OFF = dict(vh=32, vl=1, vheads=1, vff=32, pos=8, proj=32)       # the class wants a tower; text-only shapes keep it tiny
S = dict(SHAPES["nano"], **json.loads(sys.argv[3])) if len(sys.argv) > 3 else SHAPES[NAME]
if S.get("text_only"): S = {**SHAPES["nano"], **VISION_OFF, **S, "tl": [0]}
torch.manual_seed(S.get("seed", {"nano": 1, "wide": 2}.get(NAME, 3)))
TEXT_ONLY = NAME == "wide" or S.get("text_only", False)
IMAGES = S.get("images", [[90, 150], [333, 200], [14, 700], [28, 28], [301, 299]])
VOCAB, IMG, VID, MASK = 512, 500, 501, 509
text = dict(vocab_size=VOCAB, hidden_size=S["hidden"], intermediate_size=S["ffn"], num_hidden_layers=S["layers"],
            num_attention_heads=S["heads"], num_key_value_heads=S["kv"], head_dim=S["hd"], sliding_window=S["win"],
            max_position_embeddings=4096, bos_token_id=504, eos_token_id=505, pad_token_id=506,
            rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
            output_multiplier=(S["hidden"] / 256) ** -0.5)
vision = dict(hidden_size=S["vh"], num_hidden_layers=S["vl"], num_attention_heads=S["vheads"], intermediate_size=S["vff"],
              pos_emb_height=S["pos"], pos_emb_width=S["pos"], max_position_embeddings=S["pos"] ** 2)
cfg = MuseGlimmerConfig(text_config=text, vision_config=vision, image_token_id=IMG, video_token_id=VID,
                        out_hidden_size=4 * S["vh"], projector_hidden_size=S["proj"])
cfg._attn_implementation = "eager"
m = MuseGlimmerForConditionalGeneration._from_config(cfg, attn_implementation="eager", dtype=torch.float32).eval()

def reinit(mod, skip=()):
    """Weights big enough that every part of the network shows in the output; bf16-exact values."""
    with torch.no_grad():
        for n, p in mod.named_parameters():
            if p.ndim == 1:
                if "norm" in n or "ln_" in n:
                    base = 0.0 if ("layernorm" in n and mod is m) else 1.0
                    w = base + 0.25 * torch.randn_like(p)
                    if n.endswith("bias"): w = 0.1 * torch.randn_like(p)
                else:
                    w = 0.1 * torch.randn_like(p)
            elif "lm_head" in n:
                w = torch.randn_like(p) * 25.0 / p.shape[1] ** 0.5
            elif "embed" in n or "position" in n:
                w = torch.randn_like(p)
            else:
                w = torch.randn_like(p) * 1.3 / p.shape[1] ** 0.5
            # small branch outputs in every odd layer, so that the post-norms' epsilon shows
            if mod is m and ("o_proj" in n or "mlp.down_proj" in n) and "language_model" in n and int(n.split("layers.")[1].split(".")[0]) % 2:
                w = w * 1e-3
            p.copy_(w.to(torch.bfloat16).float())
reinit(m)
acfg = MuseGlimmerAssistantConfig(hidden_size=S["hidden"], intermediate_size=S["ffn"], num_hidden_layers=S["dl"],
        num_attention_heads=S["heads"], num_key_value_heads=S["dkv"], head_dim=S["hd"], rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0}, max_position_embeddings=4096,
        sliding_window=S["dwin"], layer_types=["sliding_attention"] * S["dl"], bos_token_id=504, eos_token_id=505,
        pad_token_id=506, block_size=16, mask_token_id=MASK, target_layer_ids=S["tl"])
acfg._attn_implementation = "eager"
a = MuseGlimmerAssistantModel._from_config(acfg, attn_implementation="eager", dtype=torch.float32).eval()
reinit(a)

G, meta = {}, {"transformers": transformers.__version__, "torch": torch.__version__, "shape": NAME}
with torch.no_grad():
    # 1. text: one sequence, more than twice the window
    n = 3 * S["win"] + 5
    ids = torch.randint(0, 480, (1, n)); ids[0, 0] = 504
    o = m(input_ids=ids, output_hidden_states=True)
    G["text.ids"], G["text.logits"] = ids[0].int(), o.logits[0]
    hs = o.hidden_states
    meta["n_hidden_states"] = len(hs)
    for i, h in enumerate(hs): G[f"text.hidden.{i}"] = h[0]
    # 2. greedy continuation, cached
    out = m.generate(input_ids=ids, max_new_tokens=24, do_sample=False, eos_token_id=None, pad_token_id=506)
    G["greedy.ids"] = out[0].int()
    # 3. images: Pillow's Lanczos resize (the official resampling), then the official rescale/normalize/patchify
    import numpy as np
    from PIL import Image
    from transformers.models.muse_glimmer.image_processing_muse_glimmer import smart_resize
    ip = MuseGlimmerImageProcessor(max_image_tokens=4096)
    def pil(img, cap):
        h, w = img.shape[-2:]
        th, tw = smart_resize(h, w, 28, cap)
        r = Image.fromarray(img.permute(1, 2, 0).numpy()).resize((tw, th), Image.Resampling.LANCZOS)
        return torch.from_numpy(np.array(r)).permute(2, 0, 1).contiguous()
    for k, (h, w) in enumerate([] if TEXT_ONLY else IMAGES):
        # smooth random picture, so that resampling differences are visible but not noise
        base = torch.rand(3, max(2, h // 9), max(2, w // 9))
        img = (torch.nn.functional.interpolate(base[None], (h, w), mode="bicubic").clamp(0, 1)[0] * 255).round().to(torch.uint8)
        small = pil(img, 4096)
        r = ip(images=[small], return_tensors="pt", do_resize=False)
        px, grid = r["pixel_values"].float(), r["image_grid_thw"]
        G[f"image.{k}.rgb"] = img.permute(1, 2, 0).contiguous()
        G[f"image.{k}.resized"] = small.permute(1, 2, 0).contiguous()
        G[f"image.{k}.pixels"], G[f"image.{k}.grid"] = px, grid[0].int()
        vt = m.model.vision_tower(pixel_values=px, grid_thw=grid)
        G[f"image.{k}.tower"] = vt.last_hidden_state
        f = m.model.get_image_features(px, grid).pooler_output[0]
        G[f"image.{k}.features"] = f
        nt = f.shape[0]
        pre, post = torch.randint(0, 480, (7,)), torch.randint(0, 480, (9,))
        mm = torch.cat([pre, torch.full((nt,), IMG), post])[None]
        o = m(input_ids=mm, pixel_values=px, image_grid_thw=grid)
        G[f"image.{k}.prompt"], G[f"image.{k}.logits"] = mm[0].int(), o.logits[0, -10:]
    # target sizes only, over many shapes: (height, width, cap) -> (height, width)
    g = torch.Generator().manual_seed(7)
    sz = []
    for h, w in [(1, 1), (1, 4000), (4000, 1), (13, 13), (14, 14), (15, 41), (1080, 1920), (4320, 7680), (28, 29), (1792, 1792), (1793, 1791)] + torch.randint(1, 6000, (60, 2), generator=g).tolist():
        for cap in (4096, 144, 16):
            th, tw = smart_resize(h, w, 28, cap); sz.append([h, w, cap, th, tw])
    if not TEXT_ONLY: G["smart_resize"] = torch.tensor(sz, dtype=torch.int32)
    # 4. video: frames already sampled
    if not TEXT_ONLY: 
      try:
        vp = MuseGlimmerVideoProcessor(do_sample_frames=False)
        fr = (torch.nn.functional.interpolate(torch.rand(5, 3, 6, 8), (100, 140), mode="bicubic").clamp(0, 1) * 255).round().to(torch.uint8)
        fr = torch.stack([pil(x, 144) for x in fr])
        r = vp(videos=[fr], return_tensors="pt", do_sample_frames=False, do_resize=False)
        px, grid = r["pixel_values_videos"].float(), r["video_grid_thw"]
        G["video.frames"], G["video.pixels"], G["video.grid"] = fr.permute(0, 2, 3, 1).contiguous(), px, grid[0].int()
        G["video.tower"] = m.model.vision_tower(pixel_values=px, grid_thw=grid).last_hidden_state
        f = m.model.get_image_features(px, grid).pooler_output[0]
        G["video.features"] = f
      except Exception as e:
        meta["video_error"] = repr(e)
    # 5. drafter, driven round by round exactly as the official candidate generator drives it
    from transformers.cache_utils import DFlashCache
    full = out[:, :n + 20]
    fhs = m(input_ids=full, output_hidden_states=True).hidden_states
    embed = m.model.language_model.embed_tokens
    raw = lambda t: torch.nn.functional.embedding(t, embed.weight)        # without the entry norm
    # hidden_states[0] is the normalized embedding, hidden_states[l + 1] the output of layer l: the drafter reads
    # the OUTPUTS of target_layer_ids (checked below against the official generator's own proposals)
    cache = DFlashCache(config=acfg); cache.activate_past_recording()
    done = 0                                                               # context tokens already in the drafter's cache
    for rnd, have in enumerate([] if TEXT_ONLY else [n, n + 1, n + 5, n + 16]):                 # tokens known so far; the last one is the anchor
        new = have - 1 - done
        ctx = torch.cat([fhs[t + 1][:, done:have - 1] for t in S["tl"]], dim=-1)
        cache.set_previous_accepted_tokens(new)
        if rnd: cache.crop(-acfg.block_size)
        block = torch.cat([full[:, have - 1:have], torch.full((1, 15), MASK)], dim=1)
        pos = torch.arange(done, have - 1 + 16)[None]
        d = a(noise_embeds=raw(block), context_hidden_states=ctx, position_ids=pos,
              attention_mask=torch.ones(1, have - 1 + 16, dtype=torch.long), past_key_values=cache).last_hidden_state
        G[f"draft.{rnd}.tokens_known"] = torch.tensor([have], dtype=torch.int32)
        G[f"draft.{rnd}.hidden"] = d[0]
        G[f"draft.{rnd}.ids"] = m.lm_head(d)[0, 1:].argmax(-1).int()
        if rnd == 0: G["draft.0.context"] = a.encoder(ctx)[0]
        done = have - 1
    # 6. official assisted generation
    if not TEXT_ONLY: 
      try:
        from transformers.generation.candidate_generator import DFlashTokenCandidateGenerator as Official
        inner, rounds = Official.get_candidates, []
        def spy(self, input_ids, *args, **kw):
            c, lg = inner(self, input_ids, *args, **kw)
            if lg is not None: rounds.append((input_ids.shape[1], c[0, input_ids.shape[1]:].int()))
            return c, lg
        Official.get_candidates = spy
        o2 = m.generate(input_ids=ids, assistant_model=a, speculation_type="dflash", max_new_tokens=24, do_sample=False, eos_token_id=None, pad_token_id=506)
        G["assisted.ids"] = o2[0].int()
        for i, (have, c) in enumerate(rounds): G[f"assisted.round.{i}"] = torch.cat([torch.tensor([have], dtype=torch.int32), c])
        own = {int(G[f"draft.{r}.tokens_known"]): G[f"draft.{r}.ids"] for r in range(4)}
        meta["official_rounds_checked"] = [(h, bool((own[h][:len(c)] == c).all())) for h, c in rounds if h in own]
      except Exception as e:
        meta["assisted_error"] = repr(e)[:600]

# How far two correct float32 runs differ: the same official model with another attention kernel and one thread.
with torch.no_grad():
    torch.set_num_threads(1); m.set_attn_implementation("sdpa")
    def noise(tag, ref, new):
        d = (ref - new).abs(); meta["noise." + tag] = "max %.1e mean %.1e of %.1f" % (d.max(), d.mean(), ref.abs().max())
    o = m(input_ids=ids, output_hidden_states=True); noise("text.logits", G["text.logits"], o.logits[0])
    for i, h in enumerate(o.hidden_states): noise(f"text.hidden.{i}", G[f"text.hidden.{i}"], h[0])
    for k in range(0 if TEXT_ONLY else len(IMAGES)):
        px, grid = G[f"image.{k}.pixels"], G[f"image.{k}.grid"].long()[None]
        noise(f"image.{k}.features", G[f"image.{k}.features"], m.model.get_image_features(px, grid).pooler_output[0])
        noise(f"image.{k}.logits", G[f"image.{k}.logits"], m(input_ids=G[f"image.{k}.prompt"].long()[None], pixel_values=px, image_grid_thw=grid).logits[0, -10:])
    m.set_attn_implementation("eager")

d = os.path.join(OUT, NAME); os.makedirs(d, exist_ok=True)
m.to(torch.bfloat16).save_pretrained(d, max_shard_size="12MB")
if not TEXT_ONLY: a.to(torch.bfloat16).save_pretrained(os.path.join(d, "assistant"))
ip.save_pretrained(d)
save_file({k: v.contiguous() for k, v in G.items()}, os.path.join(d, "golden.safetensors"), metadata={k: str(v) for k, v in meta.items()})
print(json.dumps(meta, indent=1))
for k, v in G.items(): print(k, tuple(v.shape), v.dtype, float(v.float().abs().max()))
for n, p in list(m.named_parameters())[:]: print("P", n, tuple(p.shape))
for n, p in a.named_parameters(): print("A", n, tuple(p.shape))
