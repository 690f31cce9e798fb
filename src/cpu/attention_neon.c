// SPDX-License-Identifier: Apache-2.0
// attention_neon.c — the attention kernel of the NEON tiers.
#include "cpu/attention_simd.h"

void glint_cpu_init_attention_neon(struct glint_cpu_kernels *kernels) {
    kernels->attention_split = attention_split;
}
