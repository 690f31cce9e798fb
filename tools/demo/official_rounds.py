#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rounds of the official assisted generation, float32, with the weights that the shipped GGUF files hold. Needs torch and transformers 5.17.

    python3 tools/demo/official_rounds.py MODEL.gguf MODEL-mmproj.gguf MODEL-draft.gguf OUT.safetensors

The prompts are held-out conversations; each text ends past three windows. OUT gets `k.ids`, prompt and greedy text, `k.prompt`, the length of the prompt, and
`k.round.i`: how many tokens were known, and the proposals of that round. Then our own drafter (mini_model.py) is compared with the
official one beyond its window.
"""
import json
import os
import random
import sys
import tempfile
import torch
from safetensors.torch import load_file, save_file
from bpe import SPECIAL_ID
from curriculum import document, sentences
from decode_gguf import Gguf, decode, save
from gguf_vocab import vocabulary
from token_rows import encode

PARTS = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
         "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def decode_drafter(path, folder):
    g = Gguf(path)
    key = lambda k: g.keys["dflash." + k]
    out = {"encoder.fc.weight": g.tensor("fc.weight"), "encoder.output_norm_enc.weight": g.tensor("enc.output_norm.weight"),
           "norm.weight": g.tensor("output_norm.weight")}
    for i in range(key("block_count")):
        for a, b in PARTS.items():
            out["layers.%d.%s.weight" % (i, b)] = g.tensor("blk.%d.%s.weight" % (i, a))
    os.makedirs(folder, exist_ok=True)
    save(os.path.join(folder, "model.safetensors"), out)
    config = {"architectures": ["MuseGlimmerAssistantModel"], "model_type": "muse_glimmer_assistant", "dtype": "float32", "hidden_act": "silu",
              "attention_bias": False, "hidden_size": key("embedding_length"), "intermediate_size": key("feed_forward_length"),
              "num_hidden_layers": key("block_count"), "num_attention_heads": key("attention.head_count"),
              "num_key_value_heads": key("attention.head_count_kv"), "head_dim": key("attention.key_length"), "rms_norm_eps": 1e-5,
              "max_position_embeddings": key("context_length"), "sliding_window": key("attention.sliding_window"),
              "layer_types": ["sliding_attention"] * key("block_count"), "block_size": key("block_size"),
              "rope_parameters": {"rope_theta": key("rope.freq_base"), "rope_type": "default"},
              "mask_token_id": g.keys["tokenizer.ggml.mask_token_id"], "target_layer_ids": [x - 1 for x in key("target_layers")],
              "bos_token_id": g.keys["tokenizer.ggml.bos_token_id"]}
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f, indent=2)


# Kind of conversation, length asked of its generator, least and most tokens of the prompt, new tokens.
TASKS = [("find", 1000, 850, 1300, 200), ("fresh", 0, 300, 900, 200), ("everyday", 0, 200, 900, 160), ("chat", 0, 100, 600, 900)]


def prompts(model):
    """Pairs of a prompt's ids and how many tokens are to follow."""
    enc, rng = vocabulary(model), random.Random(7 << 40)
    bank = sentences(lambda s: len(enc.encode(s)))
    for want, length, low, high, n in TASKS:
        ids = []
        while not low <= len(ids) <= high:
            conv = document(rng, want=want, length=length, bank=bank)
            cuts = [i for i, m in enumerate(conv["messages"]) if m.get("class") == 1]
            ids = encode(enc, {**conv, "messages": conv["messages"][:cuts[-1]]})[0] if cuts else []
        yield ids + [SPECIAL_ID["<|start|>"]] + enc.encode("assistant"), n


def spied_rounds():
    from transformers.generation.candidate_generator import DFlashTokenCandidateGenerator as Official
    inner, rounds = Official.get_candidates, []

    def spy(self, input_ids, *args, **kw):
        c, lg = inner(self, input_ids, *args, **kw)
        if lg is not None:
            rounds.append((input_ids.shape[1], c[0, input_ids.shape[1]:].int()))
        return c, lg
    Official.get_candidates = spy
    return rounds


def compare_ours(m, a, folder):
    """Our drafter against the official one on random tokens, 700 rows behind a window of 256."""
    from check_official import drafter_rows, worst
    from mini_model import Drafter, Shape
    d, n = Drafter(Shape()), 700
    d.load_state_dict(load_file(os.path.join(folder, "model.safetensors")))
    torch.manual_seed(1)
    ids = torch.randint(0, 4000, (1, n))
    hidden = m(input_ids=ids, output_hidden_states=True).hidden_states
    ctx = torch.cat([hidden[t + 1] for t in a.config.target_layer_ids], -1)[:, :n - 1]
    block = torch.cat([ids[:, -1:], torch.full((1, 15), a.config.mask_token_id)], 1)
    x = torch.nn.functional.embedding(block, m.model.language_model.embed_tokens.weight)
    at = n - 1
    ours = d(x, torch.arange(at, at + 16)[None], ctx[0], torch.arange(at), torch.tensor([at]), torch.tensor([0]))
    print("drafter rows (up to %.1f), ours against official: %.2e" % (float(ours.abs().max()), worst(ours, drafter_rows(a, x, ctx))))


@torch.no_grad()
def main(model, mmproj, drafter, out):
    from transformers import MuseGlimmerForConditionalGeneration
    from transformers.models.muse_glimmer_assistant.modeling_muse_glimmer_assistant import MuseGlimmerAssistantModel
    g, rounds = {}, spied_rounds()
    with tempfile.TemporaryDirectory() as folder:
        decode(model, mmproj, folder)
        decode_drafter(drafter, os.path.join(folder, "assistant"))
        m = MuseGlimmerForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        a = MuseGlimmerAssistantModel.from_pretrained(os.path.join(folder, "assistant"), dtype=torch.float32, attn_implementation="eager").eval()
        try:
            compare_ours(m, a, os.path.join(folder, "assistant"))
        except Exception as e:                                              # the rounds count more
            print("comparison failed:", repr(e)[:600])
    for k, (prompt, n) in enumerate(prompts(model)):
        rounds.clear()
        ids = torch.tensor([prompt])
        o = m.generate(input_ids=ids, assistant_model=a, speculation_type="dflash", max_new_tokens=n, min_new_tokens=n, do_sample=False,
                       eos_token_id=None, pad_token_id=0)[0]
        g["%d.ids" % k], g["%d.prompt" % k] = o.int(), torch.tensor([ids.shape[1]], dtype=torch.int32)
        for i, (known, proposals) in enumerate(rounds):
            g["%d.round.%d" % (k, i)] = torch.cat([torch.tensor([known], dtype=torch.int32), proposals])
        print("prompt %d: %d tokens, %d new in %d rounds" % (k, ids.shape[1], o.shape[0] - ids.shape[1], len(rounds)), flush=True)
    save_file(g, out)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
