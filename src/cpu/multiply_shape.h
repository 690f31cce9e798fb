// SPDX-License-Identifier: Apache-2.0
// multiply_shape.h — what multiply_tmpl.h and the dot headers of a tier share: the shape of a
// register block and where it reads. The including file defines TOKENS and VECTORS.
#ifndef GLINT_CPU_MULTIPLY_SHAPE_H
#define GLINT_CPU_MULTIPLY_SHAPE_H

#include "cpu/lanes.h"
#include "cpu/matmul_tile.h"

#if defined(GLINT_LANES) && defined(TOKENS)

// What a kernel instance is compiled for.
struct shape {
    enum glint_tile_class class;
    int n_token; // 1..TOKENS
};

// Where one register block reads and writes.
struct place {
    const uint8_t *code[VECTORS]; // of the block's first column
    const float *scale[VECTORS];
    const float *add[VECTORS];
    const int8_t *q; // of the first row of x
    const float *scale_x;
    const char *bias;
};

// Bytes between the biases of two rows of x.
INLINE int bias_stride(enum glint_tile_class class) {
    return GLINT_TILE_BLOCKS * glint_class_subs(class) * 4;
}

#endif
#endif
