// SPDX-License-Identifier: Apache-2.0
// dot_pairs.h — dot_add of multiply_tmpl.h for tiers without a four-byte dot product: pairs of
// products are summed in 16 bits, then widened. How many pairs fit below 2^15, |q| being at most
// 127, depends on the class: codes of 32-column types are below 32, a pair is at most 7,874, so
// four; codes of 16-column types are below 64, a pair at most 16,002, so two. Codes of eight bits
// are made signed and their sign moved to q: a pair is at most 128 * 127 * 2 = 32,512, so one.
#ifndef GLINT_CPU_DOT_PAIRS_H
#define GLINT_CPU_DOT_PAIRS_H

#include "cpu/multiply_shape.h"

#if defined(GLINT_LANES) && defined(TOKENS)
#define DOT_SIGNED_BYTES 1

INLINE int dot_steps(enum glint_tile_class class) {
    return class == GLINT_TILE_SUB32_BYTE ? 1 : 4 / glint_class_subs(class);
}

INLINE lanes_int dot_pair(lanes_int code, const int8_t *q, enum glint_tile_class class) {
    if (class != GLINT_TILE_SUB32_BYTE)
        return byte_pairs(code, int_spread(q));
    code = int_xor(code, byte_all(128));
    return byte_pairs(byte_abs(code), byte_negate(int_spread(q), code));
}

INLINE void dot_add(lanes_int sum[TOKENS][VECTORS], const struct place *at, struct shape shape,
                    int k) {
    lanes_int pairs[TOKENS][VECTORS];
#pragma GCC unroll 16
    for (int i = 0; i < dot_steps(shape.class); i++)
#pragma GCC unroll 16
        for (int v = 0; v < VECTORS; v++) {
            lanes_int code = int_load(at->code[v] + (k + i) * 64);
#pragma GCC unroll 16
            for (int t = 0; t < shape.n_token; t++) {
                const int8_t *q = at->q + t * GLINT_TILE_COLS + (k + i) * 4;
                lanes_int pair = dot_pair(code, q, shape.class);
                pairs[t][v] = i == 0 ? pair : short_add(pairs[t][v], pair);
            }
        }
#pragma GCC unroll 16
    for (int t = 0; t < shape.n_token; t++)
#pragma GCC unroll 16
        for (int v = 0; v < VECTORS; v++)
            sum[t][v] = int_add(sum[t][v], short_pairs(pairs[t][v]));
}

#endif
#endif
