// SPDX-License-Identifier: Apache-2.0
// dot_signed.h — dot_add of multiply_tmpl.h for tiers whose byte products are signed by signed:
// four products and their sum in each lane. Codes of eight bits are made signed, the others are
// below 64 anyway.
#ifndef GLINT_CPU_DOT_SIGNED_H
#define GLINT_CPU_DOT_SIGNED_H

#include "cpu/multiply_shape.h"

#if defined(__ARM_NEON) && defined(TOKENS)
#define DOT_SIGNED_BYTES 1

INLINE int dot_steps(enum glint_tile_class class) {
    (void)class;
    return 1;
}

INLINE void dot_add(lanes_int sum[TOKENS][VECTORS], const struct place *at, struct shape shape,
                    int k) {
    lanes_int code[VECTORS];
#pragma GCC unroll 16
    for (int v = 0; v < VECTORS; v++) {
        code[v] = int_load(at->code[v] + k * 64);
        if (shape.class == GLINT_TILE_SUB32_BYTE)
            code[v] = int_xor(code[v], byte_all(128));
    }
#pragma GCC unroll 16
    for (int t = 0; t < shape.n_token; t++) {
        lanes_int x = int_spread(at->q + t * GLINT_TILE_COLS + k * 4);
#pragma GCC unroll 16
        for (int v = 0; v < VECTORS; v++)
            sum[t][v] = dot_bytes(sum[t][v], code[v], x);
    }
}

#endif
#endif
