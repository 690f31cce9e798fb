// SPDX-License-Identifier: Apache-2.0
// lanes.h — the vector operations the matmul templates are written in, for the instruction set
// that the including file is compiled for. One 32-bit lane is one weight row. Without AVX2 or NEON
// the header is empty.
#ifndef GLINT_CPU_LANES_H
#define GLINT_CPU_LANES_H

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "cpu/lanes_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "cpu/lanes_avx2.h"
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include "cpu/lanes_neon.h"
#endif

#ifdef GLINT_LANES
// 4 bytes of each of LANES rows.
static inline lanes_int load_rows_4(const uint8_t *from, size_t stride) {
    int32_t lane[LANES];
    for (size_t i = 0; i < LANES; i++)
        memcpy(&lane[i], from + i * stride, sizeof lane[i]);
    return int_load(lane);
}

#endif

// Register blocks exist only once their loops, and the functions they stand in, are unfolded.
#define INLINE static inline __attribute__((always_inline))

#endif
