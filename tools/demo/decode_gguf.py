#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GGUF files back to a float32 checkpoint folder in the official layout (config.json, model.safetensors): what the shipped files hold,
for the official classes to compute with. Needs numpy. Reads F32, F16, BF16, Q8_0 and Q6_K.

    python3 tools/demo/decode_gguf.py MODEL.gguf MODEL-mmproj.gguf OUT_DIR

Everything that `glint convert` does is undone (model.md B.5): rows of Q and K back to half split, 1 off the gains of the layers' norms.
The patch kernel was summed over its two frames; it comes back as that sum and zeros, which is the same function of a still picture.
"""
import json
import os
import struct
import sys
import numpy as np

SCALAR = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
BLOCK = {0: (1, 4), 1: (1, 2), 30: (1, 2), 8: (32, 34), 14: (256, 210)}     # type -> values and bytes of a block


class Gguf:
    def __init__(self, path):
        self.f = open(path, "rb")
        if self.f.read(4) != b"GGUF":
            raise SystemExit("%s: not a GGUF file" % path)
        self.num("I")
        n_tensor, n_key = self.num("Q"), self.num("Q")
        self.keys = {}
        for _ in range(n_key):
            name = self.text()
            self.keys[name] = self.value(self.num("I"))
        self.table = {}
        for _ in range(n_tensor):
            name = self.text()
            dims = [self.num("Q") for _ in range(self.num("I"))]
            self.table[name] = (dims, self.num("I"), self.num("Q"))
        self.start = (self.f.tell() + 31) // 32 * 32

    def num(self, c):
        return struct.unpack("<" + c, self.f.read(struct.calcsize("<" + c)))[0]

    def text(self):
        return self.f.read(self.num("Q")).decode("utf-8", "surrogateescape")

    def value(self, t):
        if t == 8:
            return self.text()
        if t == 9:
            e, n = self.num("I"), self.num("Q")
            return [self.value(e) for _ in range(n)]
        return self.num(SCALAR[t])

    def tensor(self, name):
        """float32, outermost dimension first."""
        dims, kind, offset = self.table[name]
        values, size = BLOCK[kind]
        n = int(np.prod(dims))
        self.f.seek(self.start + offset)
        raw = np.frombuffer(self.f.read(n // values * size), np.uint8).reshape(-1, size)
        return DECODE[kind](raw).astype(np.float32).reshape(dims[::-1])


def q8_0(raw):
    return raw[:, :2].copy().view(np.float16).astype(np.float32) * raw[:, 2:].view(np.int8).astype(np.float32)


def q6_k(raw):
    low, high = raw[:, :128].astype(np.int32).reshape(-1, 2, 64), raw[:, 128:192].astype(np.int32).reshape(-1, 2, 32)
    scale = raw[:, 192:208].copy().view(np.int8).astype(np.float32)
    d = raw[:, 208:].copy().view(np.float16).astype(np.float32)
    quarters = [(low[:, :, k % 2 * 32:k % 2 * 32 + 32] >> k // 2 * 4 & 15) | (high >> 2 * k & 3) << 4 for k in range(4)]
    code = np.stack(quarters, 2).reshape(-1, 16, 16).astype(np.float32) - 32
    return (d * scale)[:, :, None] * code


DECODE = {0: lambda r: r.copy().view(np.float32), 1: lambda r: r.copy().view(np.float16),
          30: lambda r: (r.copy().view(np.uint16).astype(np.uint32) << 16).view(np.float32), 8: q8_0, 14: q6_k}


def half_split(x, heads):
    """Rows of each head from adjacent pairs to half split."""
    d = x.shape[0] // heads
    return x.reshape(heads, d // 2, 2, -1).transpose(0, 2, 1, 3).reshape(x.shape)


def text_tensors(g):
    key = lambda k: g.keys["muse-glimmer." + k]
    out = {"model.language_model.embed_tokens.weight": g.tensor("token_embd.weight"), "lm_head.weight": g.tensor("output.weight"),
           "model.language_model.norm.weight": g.tensor("output_norm.weight")}
    same = {"attn_v": "self_attn.v_proj", "attn_gate": "self_attn.gate_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj",
            "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
    gains = {"attn_norm": "input_layernorm", "post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm",
             "post_ffw_norm": "post_feedforward_layernorm"}
    for i in range(key("block_count")):
        to, blk = "model.language_model.layers.%d." % i, "blk.%d." % i
        for a, b in same.items():
            out[to + b + ".weight"] = g.tensor(blk + a + ".weight")
        for a, b in gains.items():
            out[to + b + ".weight"] = g.tensor(blk + a + ".weight") - np.float32(1)
        for a, n in (("q", key("attention.head_count")), ("k", key("attention.head_count_kv"))):
            out[to + "self_attn.%s_proj.weight" % a] = half_split(g.tensor(blk + "attn_%s.weight" % a), n)
    return out


def vision_tensors(g):
    key = lambda k: g.keys["clip.vision." + k]
    tower = "model.vision_tower."
    kernel = g.tensor("v.patch_embd.weight").reshape(key("embedding_length"), -1)
    out = {tower + "patch_embedder.patch_embedding.weight": np.concatenate([kernel, 0 * kernel], 1),
           tower + "patch_embedder.position_embedding_table.weight": g.tensor("v.position_embd.weight"),
           "model.vision_adapter.fc1.weight": g.tensor("mm.0.weight"), "model.vision_adapter.fc2.weight": g.tensor("mm.1.weight"),
           "model.vision_projection.weight": g.tensor("mm.2.weight")}
    pairs = {"ln1": "norm1", "ln2": "norm2", "attn_v": "attn.v_proj", "attn_out": "attn.proj", "ffn_up": "mlp.fc1", "ffn_down": "mlp.fc2",
             "attn_q": "attn.q_proj", "attn_k": "attn.k_proj"}
    for end in (".weight", ".bias"):
        for a, b in (("pre_ln", "ln_pre"), ("post_ln", "ln_post")):
            out[tower + b + end] = g.tensor("v." + a + end)
        for i in range(key("block_count")):
            for a, b in pairs.items():
                x = g.tensor("v.blk.%d.%s%s" % (i, a, end))
                out[tower + "layers.%d.%s%s" % (i, b, end)] = half_split(x, key("attention.head_count")) if a in ("attn_q", "attn_k") else x
    return out


def config(g, v, special):
    t, w = (lambda k: g.keys["muse-glimmer." + k]), (lambda k: v.keys["clip.vision." + k])
    side, layers, base = int(v.table["v.position_embd.weight"][0][1] ** 0.5), w("block_count"), t("rope.freq_base")
    short = lambda x: float("%.7g" % x)                                     # 1e-05, not the float32 nearest to it
    sliding = t("attention.sliding_window_pattern")
    return {
        "architectures": ["MuseGlimmerForConditionalGeneration"], "model_type": "muse_glimmer", "dtype": "float32",
        "image_token_id": special("<|patch|>"), "video_token_id": special("<|video|>"), "out_hidden_size": 4 * w("embedding_length"),
        "projector_hidden_act": "gelu", "projector_hidden_size": v.table["mm.0.weight"][0][1],
        "text_config": {
            "model_type": "muse_glimmer_text", "attention_bias": False, "bos_token_id": g.keys["tokenizer.ggml.bos_token_id"],
            "eos_token_id": g.keys["tokenizer.ggml.eos_token_id"], "pad_token_id": g.keys["tokenizer.ggml.padding_token_id"],
            "final_logit_softcapping": t("final_logit_softcapping"), "head_dim": t("attention.key_length"), "hidden_activation": "silu",
            "hidden_size": t("embedding_length"), "intermediate_size": t("feed_forward_length"),
            "layer_rope_theta": [base if s else 0 for s in sliding],
            "layer_types": ["sliding_attention" if s else "full_attention" for s in sliding],
            "max_position_embeddings": t("context_length"), "num_attention_heads": t("attention.head_count"),
            "num_hidden_layers": t("block_count"), "num_key_value_heads": t("attention.head_count_kv"), "output_multiplier": t("logit_scale"),
            "post_norm_eps": 1e-8, "qk_scale_factor": 3.87, "rms_norm_eps": short(t("attention.layer_norm_rms_epsilon")),
            "rope_parameters": {"rope_theta": base, "rope_type": "default"}, "sliding_window": t("attention.sliding_window"),
            "tie_word_embeddings": False, "vocab_size": g.table["token_embd.weight"][0][1]},
        "vision_config": {
            "model_type": "muse_glimmer_vision", "hidden_act": "gelu", "hidden_size": w("embedding_length"),
            "intermediate_size": w("feed_forward_length"), "layer_norm_eps": short(w("attention.layer_norm_epsilon")),
            "layer_types": ["full_attention" if (i + 1) % 4 == 0 or i + 1 == layers else "window_attention" for i in range(layers)],
            "max_position_embeddings": side * side, "merge_size": w("spatial_merge_size"), "num_attention_heads": w("attention.head_count"),
            "num_hidden_layers": layers, "patch_size": w("patch_size"), "patch_temporal": 2, "pos_emb_height": side, "pos_emb_width": side,
            "rope_parameters": {"rope_theta": 10000.0, "rope_type": "axial"}}}


def save(path, tensors):
    head, at = {}, 0
    for name, x in sorted(tensors.items()):
        head[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, x in sorted(tensors.items()):
            f.write(np.ascontiguousarray(x, np.float32).tobytes())


def decode(model, mmproj, out):
    g, v = Gguf(model), Gguf(mmproj)
    tokens = g.keys["tokenizer.ggml.tokens"]
    os.makedirs(out, exist_ok=True)
    save(os.path.join(out, "model.safetensors"), {**text_tensors(g), **vision_tensors(v)})
    with open(os.path.join(out, "config.json"), "w") as f:
        json.dump(config(g, v, tokens.index), f, indent=2)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    decode(*sys.argv[1:])
