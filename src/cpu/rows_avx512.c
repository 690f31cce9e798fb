// SPDX-License-Identifier: Apache-2.0
// rows_avx512.c — the row kernels of the AVX-512 tier, and its entry into the kernel table.
#include "cpu/rows_simd.h"

void glint_cpu_init_avx512(struct glint_cpu_kernels *kernels) {
    fill_rows(kernels);
    glint_cpu_init_attention_avx512(kernels);
}
