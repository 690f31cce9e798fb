# SPDX-License-Identifier: Apache-2.0
"""glimmer-mini in plain PyTorch, written for speed of training.

Parameter names and shapes are those of the official classes (MuseGlimmerForConditionalGeneration and
MuseGlimmerAssistantModel), so a state dict moves over unchanged; check_official.py compares both.
Documents of any length lie end to end in one flat batch of rows; attention never crosses a document (class Packed:
flash attention with offsets in bfloat16 on a GPU, the plain formula in float32).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

class Shape:
    """Sizes of the shipped model. Every matrix side is a multiple of 256, so that every K-quant fits."""
    vocab, hidden, layers, heads, kv, hd, ffn = 4096, 256, 12, 8, 2, 64, 768
    window, context, theta = 256, 8192, 500000.0
    vh, vl, vheads, vff, pos, proj = 256, 6, 4, 512, 32, 512
    dl, dkv, dffn, block, taps, dwindow = 2, 2, 768, 16, (1, 5, 10), 256

    def __init__(self, **kw):
        for k, v in kw.items():
            assert hasattr(self, k), k
            setattr(self, k, v)

    def is_full(self, i):
        return (self.layers - 1 - i) % 4 == 0


def rms(x, eps, gain=None):
    f = x.float()
    f = f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + eps)
    return (f if gain is None else f * gain.float()).to(x.dtype)


def linear(x, *ws):
    """One product for several matrices that read the same row."""
    w = ws[0] if len(ws) == 1 else torch.cat(ws, 0)
    return F.linear(x, w.to(x.dtype))


def rotate(x, cos, sin):
    """Half-split rotation of x [n, heads, d] by tables [n, d / 2]."""
    h = x.shape[-1] // 2
    a, b = x[..., :h].float(), x[..., h:].float()
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


def rope_table(pos, hd, theta):
    inv = 1.0 / (theta ** (torch.arange(0, hd, 2, dtype=torch.float32, device=pos.device) / hd))
    ang = pos.float()[:, None] * inv[None]
    return ang.cos(), ang.sin()


def dense_attention(q, k, v, allowed, scale):
    """The plain formula for small inputs: q [n, h, d], k and v [m, hk, d], allowed bool [n, m]."""
    r = q.shape[1] // k.shape[1]
    q, k, v = q.transpose(0, 1), k.repeat_interleave(r, 1).transpose(0, 1), v.repeat_interleave(r, 1).transpose(0, 1)
    s = (q.float() @ k.float().transpose(-1, -2)) * scale
    s = s.masked_fill(~allowed[None], float("-inf"))
    return (torch.softmax(s, -1) @ v.float()).transpose(0, 1).to(q.dtype)


class Packed:
    """Several documents laid end to end. cuts: int32 [d + 1] offsets, the last one the number of rows (empty documents
    allowed); longest: at least the longest document. attend() is causal inside each document, or two-sided."""

    def __init__(self, cuts, longest, window=0, causal=True):
        self.cuts, self.longest, self.window, self.causal = cuts, longest, window, causal
        self.dense = None

    def attend(self, q, k, v, full, scale):
        if q.is_cuda and q.dtype == torch.bfloat16:
            near = {} if full or not self.causal else {"window_size_left": self.window - 1, "window_size_right": 0}
            return torch.ops.aten._flash_attention_forward(q, k, v, self.cuts, self.cuts, self.longest, self.longest,
                                                           0.0, self.causal, False, scale=scale, **near)[0]
        if self.dense is None:
            n = q.shape[0]
            i = torch.arange(n, device=q.device)
            doc = torch.searchsorted(self.cuts.long(), i, right=True)
            same = doc[:, None] == doc[None]
            whole = same & (i[None] <= i[:, None]) if self.causal else same
            self.dense = {True: whole, False: whole & (i[:, None] - i[None] < self.window) if self.causal else whole}
        return dense_attention(q, k, v, self.dense[full], scale)


class Gain(nn.Module):
    def __init__(self, n, fill):
        super().__init__()
        self.weight = nn.Parameter(torch.full((n,), float(fill)))


def lin(i, o, bias=False):
    m = nn.Linear(i, o, bias=bias)
    nn.init.normal_(m.weight, std=i ** -0.5 * 0.8)
    if bias:
        nn.init.zeros_(m.bias)
    return m


class Bag(nn.Module):
    """Names for sub-modules, nothing else."""
    def __init__(self, **kw):
        super().__init__()
        for k, v in kw.items():
            setattr(self, k, v)


def text_in(h, gain, wq, wk, wv, wg, cos, sin, hd, turn):
    """Rows h [n, H] -> queries [n, heads, hd], keys and values [n, kv heads, hd], gate [n, heads * hd]."""
    n, nq, nk = h.shape[0], wq.shape[0], wk.shape[0]
    y = linear(rms(h, 1e-5, 1 + gain), wq, wk, wv, wg)
    q, k, v, g = y.split([nq, nk, nk, nq], -1)
    q = rms(q.reshape(n, -1, hd), 1e-5) * 3.87
    k = rms(k.reshape(n, -1, hd), 1e-5)
    if turn:
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
    return q, k, v.reshape(n, -1, hd).contiguous(), g


def text_out(h, o, g, wo, post_a, pre_f, wg, wu, wd, post_f):
    o = linear(o.reshape(o.shape[0], -1) * torch.sigmoid(g), wo)
    h = h + rms(o, 1e-8, 1 + post_a)
    u, w = linear(rms(h, 1e-5, 1 + pre_f), wg, wu).chunk(2, -1)
    return h + rms(linear(F.silu(u) * w, wd), 1e-8, 1 + post_f)


def norm_rows(x, w, b):
    return F.layer_norm(x.float(), (x.shape[-1],), w, b, 1e-5).to(x.dtype)


def vision_in(x, w1, b1, wq, wk, wv, bq, bk, bv, cos, sin, heads):
    n, w = x.shape
    y = norm_rows(x, w1, b1)
    y = F.linear(y, torch.cat([wq, wk, wv]).to(y.dtype), torch.cat([bq, bk, bv]).to(y.dtype))
    q, k, v = y.view(n, 3, heads, w // heads).unbind(1)
    return rotate(q, cos, sin), rotate(k, cos, sin), v.contiguous()


def vision_out(x, o, wp, bp, w2, b2, w_up, b_up, w_dn, b_dn):
    t = x.dtype
    x = x + F.linear(o.reshape(x.shape), wp.to(t), bp.to(t))
    y = F.gelu(F.linear(norm_rows(x, w2, b2), w_up.to(t), b_up.to(t)))
    return x + F.linear(y, w_dn.to(t), b_dn.to(t))


def tower_in(pixels, w, table, y, x, gh, gw, ln_w, ln_b, side, d):
    """Patches [n, 588] -> rows entering the first vision layer, and their rotation tables."""
    e = F.linear(pixels, (w[:, :588] + w[:, 588:]).to(pixels.dtype))
    def taps(i, g):
        u = (i.float() + 0.5) * side / g.float() - 0.5
        b = torch.floor(u)
        f, b = u - b, b.long()
        ok = lambda c: ((c >= 0) & (c < side)).float()
        return (b.clamp(0, side - 1), (1 - f) * ok(b)), ((b + 1).clamp(0, side - 1), f * ok(b + 1))
    p = 0
    for iy, wy in taps(y, gh):
        for ix, wx in taps(x, gw):
            p = p + F.embedding(iy * side + ix, table) * (wy * wx)[:, None]
    inv = 1.0 / (10000.0 ** (torch.arange(0, d // 2, 2, dtype=torch.float32, device=pixels.device) / (d // 2)))
    ang = torch.cat([(x.float() + 1)[:, None] * inv, (y.float() + 1)[:, None] * inv], -1)
    return norm_rows(e + p.to(e.dtype), ln_w, ln_b), ang.cos(), ang.sin()


def project(rows, src, ln_w, ln_b, fc1, fc2, out):
    """Rows of all patches and the four patch indices of each merged token -> normalised feature rows."""
    m = norm_rows(rows, ln_w, ln_b)[src.reshape(-1)].view(src.shape[0], 4, -1).transpose(1, 2).reshape(src.shape[0], -1)
    return rms(linear(F.gelu(linear(F.gelu(linear(m, fc1)), fc2)), out), 1e-5)


def head_loss(z, w, target, weight, mult):
    u = linear(z, w).float() * mult
    lg = 20 * torch.tanh(u / 20)
    l = torch.logsumexp(lg, -1) - lg.gather(1, target[:, None])[:, 0]
    return (l * weight).sum() / weight.sum(), lg.argmax(-1) == target


class TextLayer(nn.Module):
    def __init__(self, s):
        super().__init__()
        q, kv = s.heads * s.hd, s.kv * s.hd
        self.self_attn = Bag(q_proj=lin(s.hidden, q), k_proj=lin(s.hidden, kv), v_proj=lin(s.hidden, kv),
                             gate_proj=lin(s.hidden, q), o_proj=lin(q, s.hidden))
        self.mlp = Bag(gate_proj=lin(s.hidden, s.ffn), up_proj=lin(s.hidden, s.ffn), down_proj=lin(s.ffn, s.hidden))
        post = 0.35 - 1.0                                             # centred gains: small branches at the start
        self.input_layernorm, self.post_attention_layernorm = Gain(s.hidden, 0), Gain(s.hidden, post)
        self.pre_feedforward_layernorm, self.post_feedforward_layernorm = Gain(s.hidden, 0), Gain(s.hidden, post)


class VisionLayer(nn.Module):
    def __init__(self, s):
        super().__init__()
        w = s.vh
        self.norm1, self.norm2 = nn.LayerNorm(w, eps=1e-5), nn.LayerNorm(w, eps=1e-5)
        self.attn = Bag(q_proj=lin(w, w, True), k_proj=lin(w, w, True), v_proj=lin(w, w, True), proj=lin(w, w, True))
        self.mlp = Bag(fc1=lin(w, s.vff, True), fc2=lin(s.vff, w, True))


class Mini(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        emb = nn.Embedding(s.vocab, s.hidden)
        nn.init.normal_(emb.weight, std=0.3)
        pos = nn.Embedding(s.pos * s.pos, s.vh)
        nn.init.normal_(pos.weight, std=0.2)
        patch = nn.Linear(1176, s.vh, bias=False)
        nn.init.normal_(patch.weight, std=0.03)
        ln = lambda: nn.LayerNorm(s.vh, eps=1e-5)
        self.model = Bag(
            language_model=Bag(embed_tokens=emb, layers=nn.ModuleList(TextLayer(s) for _ in range(s.layers)),
                               norm=Gain(s.hidden, 1)),
            vision_tower=Bag(patch_embedder=Bag(patch_embedding=patch, position_embedding_table=pos), ln_pre=ln(),
                             layers=nn.ModuleList(VisionLayer(s) for _ in range(s.vl)), ln_post=ln()),
            vision_adapter=Bag(fc1=lin(4 * s.vh, s.proj), fc2=lin(s.proj, s.proj)),
            vision_projection=lin(s.proj, s.hidden))
        self.lm_head = nn.Linear(s.hidden, s.vocab, bias=False)
        nn.init.normal_(self.lm_head.weight, std=0.02)
        self.fn = dict(text_in=text_in, text_out=text_out, vision_in=vision_in, vision_out=vision_out, tower_in=tower_in,
                       project=project, head_loss=head_loss)

    def compile(self):
        """Compiles the pieces between attention calls; weights are arguments, so each piece is compiled once for all layers."""
        self.fn = {k: torch.compile(f, dynamic=False) for k, f in self.fn.items()}

    def features(self, pixels, y, x, gh, gw, docs, src):
        """pixels [P, 588] in -1..1 (both temporal slots hold the same picture), per-patch place and grid; docs: Packed pictures."""
        s, t, f = self.s, self.model.vision_tower, self.fn
        d = s.vh // s.vheads
        e = t.patch_embedder
        r, cos, sin = f["tower_in"](pixels, e.patch_embedding.weight, e.position_embedding_table.weight, y, x, gh, gw,
                                    t.ln_pre.weight, t.ln_pre.bias, s.pos, d)
        for l in t.layers:
            a, m = l.attn, l.mlp
            q, k, v = f["vision_in"](r, l.norm1.weight, l.norm1.bias, a.q_proj.weight, a.k_proj.weight, a.v_proj.weight,
                                     a.q_proj.bias, a.k_proj.bias, a.v_proj.bias, cos, sin, s.vheads)
            o = docs.attend(q, k, v, True, d ** -0.5)
            r = f["vision_out"](r, o, a.proj.weight, a.proj.bias, l.norm2.weight, l.norm2.bias, m.fc1.weight, m.fc1.bias,
                                m.fc2.weight, m.fc2.bias)
        a = self.model.vision_adapter
        return f["project"](r, src, t.ln_post.weight, t.ln_post.bias, a.fc1.weight, a.fc2.weight,
                            self.model.vision_projection.weight)

    def embed(self, ids, dtype):
        return rms(F.embedding(ids, self.model.language_model.embed_tokens.weight).to(dtype), 1e-5)

    def rows(self, h, pos, docs, taps=()):
        """h [n, H] entering layer 0, pos [n] place in the document. Returns the normalised last rows and the outputs of the layers
        named in taps."""
        s, f, kept = self.s, self.fn, []
        cos, sin = rope_table(pos, s.hd, s.theta)
        for i, l in enumerate(self.model.language_model.layers):
            a, m, full = l.self_attn, l.mlp, s.is_full(i)
            q, k, v, g = f["text_in"](h, l.input_layernorm.weight, a.q_proj.weight, a.k_proj.weight, a.v_proj.weight,
                                      a.gate_proj.weight, cos, sin, s.hd, not full)
            o = docs.attend(q, k, v, full, s.hd ** -0.5)
            h = f["text_out"](h, o, g, a.o_proj.weight, l.post_attention_layernorm.weight, l.pre_feedforward_layernorm.weight,
                              m.gate_proj.weight, m.up_proj.weight, m.down_proj.weight, l.post_feedforward_layernorm.weight)
            if i in taps:
                kept.append(h)
        return rms(h, 1e-5, self.model.language_model.norm.weight), kept

    def multiplier(self):
        return (self.s.hidden / 256) ** -0.5

    def logits(self, z):
        u = linear(z, self.lm_head.weight).float() * self.multiplier()
        return 20 * torch.tanh(u / 20)


class Drafter(nn.Module):
    """The DFlash drafter: every norm a plain gain, queries and keys with learned gains, half-split rotation everywhere."""

    def __init__(self, s):
        super().__init__()
        self.s = s
        q, kv = s.heads * s.hd, s.dkv * s.hd
        self.encoder = Bag(fc=lin(len(s.taps) * s.hidden, s.hidden), output_norm_enc=Gain(s.hidden, 1))
        self.layers = nn.ModuleList(Bag(
            self_attn=Bag(q_proj=lin(s.hidden, q), k_proj=lin(s.hidden, kv), v_proj=lin(s.hidden, kv),
                          o_proj=lin(q, s.hidden), q_norm=Gain(s.hd, 3.0), k_norm=Gain(s.hd, 1)),
            mlp=Bag(gate_proj=lin(s.hidden, s.dffn), up_proj=lin(s.hidden, s.dffn), down_proj=lin(s.dffn, s.hidden)),
            input_layernorm=Gain(s.hidden, 1), post_attention_layernorm=Gain(s.hidden, 1)) for _ in range(s.dl))
        self.norm = Gain(s.hidden, 1)

    def forward(self, x, x_pos, ctx, ctx_pos, at, first):
        """x [A, 16, H]: raw embeddings of A blocks at positions x_pos [A, 16]. ctx [N, taps * H]: target rows of a whole batch at
        positions ctx_pos [N]. Block a follows row at[a] - 1; its document begins at row first[a]. Returns normalised rows [A, 16, H]."""
        s = self.s
        n_a, n_b, w, grp = x.shape[0], x.shape[1], s.dwindow, s.heads // s.dkv
        c = rms(linear(ctx, self.encoder.fc.weight), 1e-5, self.encoder.output_norm_enc.weight)
        rc, rx = rope_table(ctx_pos, s.hd, s.theta), rope_table(x_pos.reshape(-1), s.hd, s.theta)
        t, j = torch.arange(w, device=x.device), torch.arange(n_b, device=x.device)
        idx = at[:, None] - w + t[None]                                    # context rows in reach of row 0: distance up to w
        near = (idx >= first[:, None])[:, None] & (t[None, None] >= j[None, :, None])
        idx = idx.clamp(min=0)
        ok = torch.cat([near, near.new_ones(n_a, n_b, n_b)], 2)[:, None].repeat(1, 1, grp, 1)
        for l in self.layers:
            a, m = l.self_attn, l.mlp
            kv = lambda y: linear(y.reshape(-1, s.hidden), a.k_proj.weight, a.v_proj.weight).view(-1, 2, s.dkv, s.hd).unbind(1)
            y = rms(x, 1e-5, l.input_layernorm.weight)
            q = rms(linear(y, a.q_proj.weight).view(n_a * n_b, s.heads, s.hd), 1e-5, a.q_norm.weight)
            q = rotate(q, *rx).view(n_a, n_b, s.dkv, grp, s.hd).permute(0, 2, 3, 1, 4).reshape(n_a, s.dkv, grp * n_b, s.hd)
            (kc, vc), (kb, vb) = kv(c), kv(y)
            kc, kb = rotate(rms(kc, 1e-5, a.k_norm.weight), *rc), rotate(rms(kb, 1e-5, a.k_norm.weight), *rx)
            both = lambda ctx_rows, rows: torch.cat([ctx_rows[idx], rows.view(n_a, n_b, s.dkv, s.hd)], 1).transpose(1, 2)
            sc = (q @ both(kc, kb).transpose(-1, -2)).float() * s.hd ** -0.5
            o = torch.softmax(sc.masked_fill(~ok, float("-inf")), -1).to(x.dtype) @ both(vc, vb)
            o = o.view(n_a, s.dkv, grp, n_b, s.hd).permute(0, 3, 1, 2, 4).reshape(n_a, n_b, -1)
            x = x + linear(o, a.o_proj.weight)
            u, g = linear(rms(x, 1e-5, l.post_attention_layernorm.weight), m.gate_proj.weight, m.up_proj.weight).chunk(2, -1)
            x = x + linear(F.silu(u) * g, m.down_proj.weight)
        return rms(x, 1e-5, self.norm.weight)


def official_config(s, special):
    """config.json of the target as a dict; special: token text -> id."""
    text = dict(vocab_size=s.vocab, hidden_size=s.hidden, intermediate_size=s.ffn, num_hidden_layers=s.layers,
                num_attention_heads=s.heads, num_key_value_heads=s.kv, head_dim=s.hd, sliding_window=s.window,
                max_position_embeddings=s.context, bos_token_id=special["<|begin_of_text|>"],
                eos_token_id=special["<|end_of_text|>"], pad_token_id=special["<|finetune_right_pad|>"],
                rope_parameters={"rope_type": "default", "rope_theta": s.theta}, output_multiplier=(s.hidden / 256) ** -0.5)
    vision = dict(hidden_size=s.vh, num_hidden_layers=s.vl, num_attention_heads=s.vheads, intermediate_size=s.vff,
                  pos_emb_height=s.pos, pos_emb_width=s.pos, max_position_embeddings=s.pos ** 2)
    return dict(text_config=text, vision_config=vision, image_token_id=special["<|patch|>"],
                video_token_id=special["<|video|>"], out_hidden_size=4 * s.vh, projector_hidden_size=s.proj)


def official_drafter_config(s, special):
    return dict(hidden_size=s.hidden, intermediate_size=s.dffn, num_hidden_layers=s.dl, num_attention_heads=s.heads,
                num_key_value_heads=s.dkv, head_dim=s.hd, rms_norm_eps=1e-5, max_position_embeddings=s.context,
                rope_parameters={"rope_type": "default", "rope_theta": s.theta}, sliding_window=s.dwindow,
                layer_types=["sliding_attention"] * s.dl, bos_token_id=special["<|begin_of_text|>"],
                eos_token_id=special["<|end_of_text|>"], pad_token_id=special["<|finetune_right_pad|>"],
                block_size=s.block, mask_token_id=special["<|reserved_special_token_1818|>"], target_layer_ids=list(s.taps))
