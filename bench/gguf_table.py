# SPDX-License-Identifier: Apache-2.0
"""The keys and the tensor table of a GGUF file that this program or the peer wrote."""
import math
import struct

NAMES = {0: "f32", 1: "f16", 2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 8: "q8_0", 10: "q2_k",
         11: "q3_k", 12: "q4_k", 13: "q5_k", 14: "q6_k", 30: "bf16"}
FORMS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class Tensor:
    """dims has the row length first; at is the place of the first byte in the file."""

    def __init__(self, name, dims, kind, at):
        self.name, self.dims, self.kind, self.at = name, dims, NAMES[kind], at
        self.n_col, self.n_values = dims[0], math.prod(dims)


def read(data):
    """(keys, tensors) of the bytes of a file; arrays become their length."""
    at = 8

    def take(form):
        nonlocal at
        value = struct.unpack_from("<" + form, data, at)[0]
        at += struct.calcsize("<" + form)
        return value

    def text():
        nonlocal at
        n = take("Q")
        at += n
        return bytes(data[at - n:at]).decode()

    def value(kind):
        nonlocal at
        if kind == 8:
            return text()
        if kind != 9:
            return take(FORMS[kind])
        item, n = take("I"), take("Q")
        if item in FORMS:
            at += n * struct.calcsize("<" + FORMS[item])
        else:
            for _ in range(n):
                value(item)
        return n

    n_tensors, n_keys, keys, found = take("Q"), take("Q"), {}, []
    for _ in range(n_keys):
        name = text()
        keys[name] = value(take("I"))
    for _ in range(n_tensors):
        name = text()
        dims = [take("Q") for _ in range(take("I"))]
        found.append(Tensor(name, dims, take("I"), take("Q")))
    unit = keys.get("general.alignment", 32)
    for tensor in found:
        tensor.at += -(-at // unit) * unit
    return keys, found
