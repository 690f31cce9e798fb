# SPDX-License-Identifier: Apache-2.0
"""script_model.py: writes a GGUF file of a model that says one given text and nothing else.

Attention and feed-forward outputs are zero, so a token's logits depend on that token alone: its
embedding is a unit vector, and the head's row of the token that follows has a weight there. Pieces
of the text become tokens that occur once, where that is possible. Those that occur again (the
control tokens) have several successors: the server is run with a frequency penalty, and the weights
are chosen such that each time the right one is ahead.
"""
import struct

WIDTH_STEP = 32
HEAD, DIM, FF, LAYERS = 1, 32, 32, 4
PENALTY = 10.0
FLAGS = ["--frequency-penalty", str(PENALTY), "--repeat-last-n", "100000"]
CONTROL = ["<|begin_of_text|>", "<|end_of_text|>", "<|eom|>", "<|eot|>", "<|start|>", "<|message|>",
           "<|patch|>", "<|video|>", "<|image_start|>", "<|image_end|>", "<|finetune_right_pad|>"]


def byte_spelling():
    """The character that stands for each byte in GPT-2's alphabet."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [b for b in range(256) if b not in plain]
    return [chr(b) if b in plain else chr(256 + moved.index(b)) for b in range(256)]


SPELLING = byte_spelling()


def cut(run, used):
    """Bytes as pieces of 2 to 4 bytes, new ones as far as possible; single bytes else."""
    pieces = []
    while run:
        sizes = [n for n in (3, 2, 4) if n <= len(run) and len(run) - n != 1] or [len(run)]
        size = next((n for n in sizes if run[:n] not in used), sizes[0])
        pieces.append(run[:size])
        used.add(run[:size])
        run = run[size:]
    return pieces


def solve(steps, counts):
    """Weights such that step after step the right token is ahead: {(before, token): weight}.

    steps: (before, token) pairs in order. Differences of weights are bounded from below by what
    the penalties of both will be; the longest paths are found by relaxing.
    """
    successors, bounds = {}, []
    for before, token in steps:
        successors.setdefault(before, set()).add(token)
    count = dict(counts)
    for before, token in steps:
        for other in successors[before] - {token}:
            gap = PENALTY * (count.get(token, 0) - count.get(other, 0)) + 1
            bounds.append(((before, token), (before, other), gap))
        count[token] = count.get(token, 0) + 1
    weights = {edge: 500.0 for edge in steps}
    for _ in range(len(weights) + 1):
        moved = False
        for ahead, behind, gap in bounds:
            if weights[ahead] < weights[behind] + gap:
                weights[ahead] = weights[behind] + gap
                moved = True
        if not moved:
            return weights
    raise ValueError("no weights make the model say this text")


class Gguf:
    def __init__(self):
        self.keys, self.tensors, self.data = [], [], bytearray()

    def text(self, value):
        data = value.encode()
        return struct.pack("<Q", len(data)) + data

    def key(self, name, kind, value):
        self.keys.append(self.text(name) + struct.pack("<I", kind) + value)

    def u32(self, name, value):
        self.key(name, 4, struct.pack("<I", value))

    def f32(self, name, value):
        self.key(name, 6, struct.pack("<f", value))

    def boolean(self, name, value):
        self.key(name, 7, struct.pack("<B", value))

    def string(self, name, value):
        self.key(name, 8, self.text(value))

    def array(self, name, kind, items):
        self.key(name, 9, struct.pack("<IQ", kind, len(items)) + b"".join(items))

    def tensor(self, name, dims, values):
        self.data += b"\0" * (-len(self.data) % 32)
        self.tensors.append(self.text(name) + struct.pack("<I", len(dims)) +
                            b"".join(struct.pack("<Q", d) for d in dims) +
                            struct.pack("<IQ", 0, len(self.data)))
        self.data += struct.pack(f"<{len(values)}f", *values)

    def write(self, path):
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.keys))
        head += b"".join(self.keys) + b"".join(self.tensors)
        head += b"\0" * (-len(head) % 32)
        with open(path, "wb") as file:
            file.write(head + self.data)


def write_script(path, parts, after=b"t", counts=None, context=2048):
    """A model that says `parts` (bytes of text, or a control token's name) after a prompt whose
    last token is the byte `after`, and which holds tokens so often: {id: count}. Returns how many
    tokens that takes. The ids do not depend on the counts."""
    used, said = set(), []
    for part in parts:
        said += [part] if isinstance(part, str) else cut(part, used)
    vocab = [bytes([b]) for b in range(256)] + [b"zz"]
    vocab += sorted({piece for piece in said if isinstance(piece, bytes)} - set(vocab))
    names = {piece: i for i, piece in enumerate([*vocab, *CONTROL])}
    ids = [names[piece] for piece in said]
    steps = list(zip([names[after], *ids], ids))
    weights = solve(steps, counts or {})
    axis = {before: i for i, before in enumerate(dict.fromkeys(b for b, _ in steps))}
    width = -(-(len(axis) + 1) // WIDTH_STEP) * WIDTH_STEP  # the last axis: all other tokens
    n_vocab = len(names)
    embed = [0.0] * (n_vocab * width)
    head = [0.0] * (n_vocab * width)
    for i in range(n_vocab):
        embed[i * width + axis.get(i, width - 1)] = 1.0
    for (before, token), weight in weights.items():
        head[token * width + axis[before]] = weight / width ** 0.5  # the norm gives sqrt(width)

    out = Gguf()
    arch = "muse-glimmer."
    out.string("general.architecture", "muse-glimmer")
    for name, value in (("block_count", LAYERS), ("context_length", context),
                        ("embedding_length", width), ("feed_forward_length", FF),
                        ("attention.head_count", HEAD), ("attention.head_count_kv", HEAD),
                        ("attention.key_length", DIM), ("attention.value_length", DIM),
                        ("attention.sliding_window", 16)):
        out.u32(arch + name, value)
    for name, value in (("attention.layer_norm_rms_epsilon", 1e-5), ("rope.freq_base", 500000.0),
                        ("final_logit_softcapping", 1e6), ("logit_scale", 1.0)):
        out.f32(arch + name, value)
    out.array(arch + "attention.sliding_window_pattern", 7,
              [struct.pack("<B", i % 4 != 3) for i in range(LAYERS)])
    out.string("tokenizer.ggml.model", "gpt2")
    out.string("tokenizer.ggml.pre", "llama4")
    for name, text in (("bos", "<|begin_of_text|>"), ("eos", "<|end_of_text|>"),
                       ("eot", "<|eot|>"), ("padding", "<|finetune_right_pad|>")):
        out.u32(f"tokenizer.ggml.{name}_token_id", names[text])
    out.boolean("tokenizer.ggml.add_bos_token", True)
    spelled = ["".join(SPELLING[b] for b in piece) for piece in vocab] + CONTROL
    out.array("tokenizer.ggml.tokens", 8, [out.text(s) for s in spelled])
    out.array("tokenizer.ggml.token_type", 5,
              [struct.pack("<i", 3 if i >= len(vocab) else 1) for i in range(n_vocab)])
    out.array("tokenizer.ggml.merges", 8, [out.text("z z")])  # so that no others are made up

    out.tensor("token_embd.weight", [width, n_vocab], embed)
    out.tensor("output.weight", [width, n_vocab], head)
    out.tensor("output_norm.weight", [width], [1.0] * width)
    for layer in range(LAYERS):
        for name, cols, rows in (("attn_q", width, DIM), ("attn_k", width, DIM),
                                 ("attn_v", width, DIM), ("attn_gate", width, DIM),
                                 ("attn_output", DIM, width), ("ffn_gate", width, FF),
                                 ("ffn_up", width, FF), ("ffn_down", FF, width)):
            out.tensor(f"blk.{layer}.{name}.weight", [cols, rows], [0.0] * (cols * rows))
        for name, n, value in (("attn_norm", width, 1.0), ("attn_q_norm", DIM, 3.87),
                               ("attn_k_norm", DIM, 1.0), ("post_attention_norm", width, 1.0),
                               ("ffn_norm", width, 1.0), ("post_ffw_norm", width, 1.0)):
            out.tensor(f"blk.{layer}.{name}.weight", [n], [value] * n)
    out.write(path)
    return len(ids)
