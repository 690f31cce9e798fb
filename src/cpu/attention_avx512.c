// SPDX-License-Identifier: Apache-2.0
// attention_avx512.c — the attention kernel of the AVX-512 tier.
#include "cpu/attention_simd.h"

void glint_cpu_init_attention_avx512(struct glint_cpu_kernels *kernels) {
    kernels->attention_split = attention_split;
}
