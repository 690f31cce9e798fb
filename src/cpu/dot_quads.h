// SPDX-License-Identifier: Apache-2.0
// dot_quads.h — dot_add of multiply_tmpl.h with VNNI: four products and their sum in one
// instruction. Codes are unsigned and q signed, as it wants; sums stay far from 2^31.
#ifndef GLINT_CPU_DOT_QUADS_H
#define GLINT_CPU_DOT_QUADS_H

#include "cpu/multiply_shape.h"

#if defined(__AVX512VNNI__) && defined(TOKENS)
#define DOT_SIGNED_BYTES 0

INLINE int dot_steps(enum glint_tile_class class) {
    (void)class;
    return 1;
}

INLINE void dot_add(lanes_int sum[TOKENS][VECTORS], const struct place *at, struct shape shape,
                    int k) {
    lanes_int code[VECTORS];
#pragma GCC unroll 16
    for (int v = 0; v < VECTORS; v++)
        code[v] = int_load(at->code[v] + k * 64);
#pragma GCC unroll 16
    for (int t = 0; t < shape.n_token; t++) {
        lanes_int x = int_spread(at->q + t * GLINT_TILE_COLS + k * 4);
#pragma GCC unroll 16
        for (int v = 0; v < VECTORS; v++)
            sum[t][v] = _mm512_dpbusd_epi32(sum[t][v], code[v], x);
    }
}

#endif
#endif
