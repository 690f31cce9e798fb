// SPDX-License-Identifier: Apache-2.0
// rows_neon.c — the row kernels of the NEON tiers, and their entry into the kernel table.
#include "cpu/rows_simd.h"

void glint_cpu_init_neon(struct glint_cpu_kernels *kernels) {
    fill_rows(kernels);
    glint_cpu_init_attention_neon(kernels);
}
