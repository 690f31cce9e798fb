# SPDX-License-Identifier: Apache-2.0
"""A text model that computes the same as another from weights in other places.

The residual channels, the hidden values of the FFN and the values of a head are interchangeable:
moving them about, and flipping the signs of some, leaves the logits alone but puts other weights
together in the blocks of a quantizer. So each seed shows a quantizer another draw of one model,
and differences between quantizers can be told from luck.
"""
import array
import operator
import random

import gguf_table

# The distance of neighbouring values of a type, over the largest of a group of so many.
STEPS = {"q8_0": (32, 127), "q6_k": (16, 32)}


def shuffled(rng, n):
    """An order of n values and a sign for each."""
    order = list(range(n))
    rng.shuffle(order)
    return order, [rng.choice((-1.0, 1.0)) for _ in order]


class Moves:
    """For each matrix: what happens to its columns and to its rows."""

    def __init__(self, rng, keys):
        of = lambda name: keys["muse-glimmer." + name]
        self.rng = rng
        self.channels = shuffled(rng, of("embedding_length"))
        self.n_ff, self.head = of("feed_forward_length"), of("attention.key_length")
        self.n_head, self.n_kv = of("attention.head_count"), of("attention.head_count_kv")
        self.layers = {}

    def layer(self, number):
        """Orders of the FFN's hidden values, of the value rows and of the attention outputs."""
        if number not in self.layers:
            hidden = shuffled(self.rng, self.n_ff)
            heads = [shuffled(self.rng, self.head) for _ in range(self.n_kv)]

            def lay(each):
                order = [j * self.head + i for j, head in enumerate(each) for i in head[0]]
                return order, [sign for head in each for sign in head[1]]
            share = self.n_head // self.n_kv
            self.layers[number] = (hidden, lay(heads), lay([heads[j // share]
                                                            for j in range(self.n_head)]))
        return self.layers[number]

    def of(self, name):
        """(columns, rows) of a tensor, None where nothing moves."""
        if name in ("token_embd.weight", "output.weight", "output_norm.weight"):
            return self.channels, None
        _, number, leaf, _ = name.split(".")
        hidden, values, outputs = self.layer(int(number))
        unsigned = lambda order: (order[0], [1.0] * len(order[0]))
        return {"attn_v": (self.channels, values), "attn_gate": (self.channels, unsigned(outputs)),
                "attn_output": (outputs, self.channels), "ffn_down": (hidden, self.channels),
                "ffn_gate": (self.channels, unsigned(hidden)), "ffn_up": (self.channels, hidden),
                "attn_q_norm": (None, None), "attn_k_norm": (None, None),
                }.get(leaf, (self.channels, None))


def moved(values, n_col, columns, rows):
    n_row = len(values) // n_col
    pick = operator.itemgetter(*columns[0]) if columns else tuple
    sign = columns[1] if columns and n_row > 1 else [1.0] * n_col
    out = array.array("f")
    for row, row_sign in zip(*rows) if rows else zip(range(n_row), [1.0] * n_row):
        line = pick(values[row * n_col:(row + 1) * n_col])
        signs = [row_sign * x for x in sign]
        out.extend(map(operator.mul, line, signs))
    return out


def blurred(values, kind, rng):
    """Undoes the rounding of a decoded tensor, as far as its grid is concerned."""
    group, steps = STEPS[kind]
    out = array.array("f")
    for at in range(0, len(values), group):
        part = values[at:at + group]
        step = max(max(part), -min(part)) / steps
        out.extend([x + step * (rng.random() - 0.5) for x in part])
    return out


def write(source, target, kinds, seed):
    """source: a float32 file; kinds: the types its tensors had before they were decoded."""
    data = bytearray(open(source, "rb").read())
    keys, tensors = gguf_table.read(data)
    rng = random.Random(seed)
    moves = Moves(rng, keys)
    for tensor in tensors:
        values = array.array("f", bytes(data[tensor.at:tensor.at + 4 * tensor.n_values]))
        if kinds[tensor.name] in STEPS:
            values = blurred(values, kinds[tensor.name], rng)
        columns, rows = moves.of(tensor.name)
        values = moved(values, tensor.n_col, columns, rows)
        data[tensor.at:tensor.at + 4 * tensor.n_values] = values.tobytes()
    with open(target, "wb") as out:
        out.write(data)
