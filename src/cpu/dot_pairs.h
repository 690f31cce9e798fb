// SPDX-License-Identifier: Apache-2.0
// dot_pairs.h — dot_steps of multiply_tmpl.h for tiers without a four-byte dot product: pairs of
// products are summed in 16 bits, then widened. Codes below 64 times |q| <= 127: a pair is at
// most 16,002, two of them stay below 2^15. Codes of eight bits are made signed and their sign
// moved to q: a pair is at most 128 * 127 * 2 = 32,512, so each is widened at once.
#ifndef GLINT_CPU_DOT_PAIRS_H
#define GLINT_CPU_DOT_PAIRS_H

#include "cpu/lanes.h"

#if defined(GLINT_LANES) && defined(STEPS)
_Static_assert(STEPS == 2, "two pairs are added in 16 bits");

static inline __attribute__((always_inline)) lanes_int dot_steps(lanes_int sum, const lanes_int *w,
                                                                 const lanes_int *x, int byte) {
    if (!byte)
        return int_add(sum, short_pairs(short_add(byte_pairs(w[0], x[0]), byte_pairs(w[1], x[1]))));
#pragma GCC unroll 16
    for (int i = 0; i < STEPS; i++) {
        lanes_int code = int_xor(w[i], byte_all(128));
        lanes_int pairs = byte_pairs(byte_abs(code), byte_negate(x[i], code));
        sum = int_add(sum, short_pairs(pairs));
    }
    return sum;
}

#endif
#endif
