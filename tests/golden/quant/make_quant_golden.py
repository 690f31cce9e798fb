#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden files of this folder:  make_quant_golden.py LIBGGML_BASE.so

source.f32    3,328 source values: the rows of ROWS below, float32
<type>.blocks the source as encoded by llama.cpp's own quantizer (its public C function), then 512
              values' worth of random bytes with finite scales
<type>.f32    all those blocks decoded by the formulas below, float32

The decoders here are written from the public description of the formats, one value at a time, in
double arithmetic with a rounding to float32 where the formula has one. They share no code with
src/quant.
"""
import ctypes
import os
import random
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = [("normal", 1024), ("heavy", 1024), ("uniform", 256), ("constant", 256), ("zero", 256),
        ("negative", 256), ("spike", 256)]


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def f16(b, at):
    return struct.unpack_from("<e", b, at)[0]


def source():
    rnd = random.Random(20)
    out = []
    for kind, n in ROWS:
        for i in range(n):
            x = rnd.gauss(0, 1)
            if kind == "heavy":  # Student's t with 3 degrees of freedom
                x /= (sum(rnd.gauss(0, 1) ** 2 for _ in range(3)) / 3) ** 0.5
            elif kind == "uniform":
                x = rnd.uniform(-1, 2)
            elif kind == "constant":
                x = 0.37 / 0.02
            elif kind == "zero":
                x = 0.0
            elif kind == "negative":
                x = -abs(x) - 1
            elif kind == "spike":
                x = x if i % 256 != 77 else 60.0
            out.append(f32(x * 0.02))
    return out


# Each: (ggml id, values a block, bytes a block, offsets of binary16 fields, value i of block b)
def q8_0(b, i):
    return f32(f16(b, 0) * struct.unpack_from("<b", b, 2 + i)[0])


def nibble(b, at, i):
    return b[at + i % 16] & 15 if i < 16 else b[at + i % 16] >> 4


def q4_0(b, i):
    return f32(f16(b, 0) * (nibble(b, 2, i) - 8))


def q4_1(b, i):
    return f32(f32(f16(b, 0) * nibble(b, 4, i)) + f16(b, 2))


def fifth(b, at, i):
    return (int.from_bytes(b[at:at + 4], "little") >> i & 1) << 4


def q5_0(b, i):
    return f32(f16(b, 0) * (nibble(b, 6, i) + fifth(b, 2, i) - 16))


def q5_1(b, i):
    return f32(f32(f16(b, 0) * (nibble(b, 8, i) + fifth(b, 4, i))) + f16(b, 2))


def q2_k(b, i):
    scale = b[i // 16]
    byte = b[16 + 32 * (i // 128) + i % 32]
    code = byte >> 2 * (i % 128 // 32) & 3
    return f32(f32(f32(f16(b, 80) * (scale & 15)) * code) - f32(f16(b, 82) * (scale >> 4)))


def q3_k(b, i):
    high, low, packed = b[0:32], b[32:96], b[96:108]
    group = i // 16
    four = packed[group % 8] >> (4 if group >= 8 else 0) & 15
    two = packed[8 + group % 4] >> 2 * (group // 4) & 3
    scale = (four | two << 4) - 32
    code = low[32 * (i // 128) + i % 32] >> 2 * (i % 128 // 32) & 3
    code -= 0 if high[i % 32] >> i // 32 & 1 else 4
    return f32(f32(f16(b, 108) * scale) * code)


def six_bit(packed, j):
    """The scale and the min of group j: 12 bytes hold 8 of each."""
    if j < 4:
        return packed[j] & 63, packed[4 + j] & 63
    return (packed[4 + j] & 15 | packed[j - 4] >> 6 << 4,
            packed[4 + j] >> 4 | packed[j] >> 6 << 4)


def four_five(b, i, q_at, high_at):
    scale, minimum = six_bit(b[4:16], i // 32)
    byte = b[q_at + 32 * (i // 64) + i % 32]
    code = byte >> 4 if i % 64 >= 32 else byte & 15
    if high_at is not None:
        code += 16 * (b[high_at + i % 32] >> i // 32 & 1)
    return f32(f32(f32(f16(b, 0) * scale) * code) - f32(f16(b, 2) * minimum))


def q4_k(b, i):
    return four_five(b, i, 16, None)


def q5_k(b, i):
    return four_five(b, i, 48, 16)


def q6_k(b, i):
    half, j = divmod(i, 128)
    byte = b[64 * half + j % 64]
    code = byte >> 4 if j >= 64 else byte & 15
    code |= (b[128 + 32 * half + j % 32] >> 2 * (j // 32) & 3) << 4
    scale = struct.unpack_from("<b", b, 192 + i // 16)[0]
    return f32(f32(f16(b, 208) * scale) * (code - 32))


TYPES = {
    "q8_0": (8, 32, 34, [0], q8_0), "q4_0": (2, 32, 18, [0], q4_0),
    "q4_1": (3, 32, 20, [0, 2], q4_1), "q5_0": (6, 32, 22, [0], q5_0),
    "q5_1": (7, 32, 24, [0, 2], q5_1), "q2_k": (10, 256, 84, [80, 82], q2_k),
    "q3_k": (11, 256, 110, [108], q3_k), "q4_k": (12, 256, 144, [0, 2], q4_k),
    "q5_k": (13, 256, 176, [0, 2], q5_k), "q6_k": (14, 256, 210, [208], q6_k),
}


def main():
    lib = ctypes.CDLL(sys.argv[1])
    lib.ggml_quantize_chunk.restype = ctypes.c_size_t
    lib.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                                        ctypes.c_int64, ctypes.c_int64, ctypes.c_int64,
                                        ctypes.c_void_p]
    values = source()
    n = len(values)
    with open(os.path.join(HERE, "source.f32"), "wb") as out:
        out.write(struct.pack("<%df" % n, *values))
    rnd = random.Random(21)
    for name, (ident, length, size, halves, decode) in TYPES.items():
        floats = (ctypes.c_float * n)(*values)
        blocks = ctypes.create_string_buffer(n // length * size)
        lib.ggml_quantize_chunk(ident, floats, blocks, 0, 1, n, None)
        data = blocks.raw
        for _ in range(512 // length):
            block = bytearray(rnd.randbytes(size))
            for at in halves:
                block[at + 1] = block[at + 1] & 0xbf  # exponent below 16: finite
            data += bytes(block)
        decoded = [decode(data[at:at + size], i) for at in range(0, len(data), size)
                   for i in range(length)]
        with open(os.path.join(HERE, name + ".blocks"), "wb") as out:
            out.write(data)
        with open(os.path.join(HERE, name + ".f32"), "wb") as out:
            out.write(struct.pack("<%df" % len(decoded), *decoded))


main()
