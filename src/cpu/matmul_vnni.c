// SPDX-License-Identifier: Apache-2.0
// matmul_vnni.c — the integer kernels with VNNI: four products and their sum in one instruction,
// on 512-bit registers. 6 rows of x by 32 weight rows keep 12 integer and 12 float sums in the
// 32 registers; a code vector is loaded once for 6 rows, a piece of x once for 32 weight rows.
#define TOKENS  6
#define VECTORS 2

#include "cpu/dot_quads.h"
#include "cpu/multiply_tmpl.h"

#define SINK_DOT(sum, code, x) _mm512_dpbusd_epi32(sum, code, x)
#define GLINT_MULTIPLY_ONE
#include "cpu/multiply_one.h"

void glint_matmul_init_vnni(struct glint_matmul_kernels *kernels) {
    fill_multiply(kernels);
    fill_multiply_one(kernels);
}
