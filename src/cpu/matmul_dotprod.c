// SPDX-License-Identifier: Apache-2.0
// matmul_dotprod.c — the integer kernels with Arm's dot product: four products and their sum in
// one instruction.
#define TOKENS  4
#define VECTORS 2

#include "cpu/dot_signed.h"
#include "cpu/multiply_tmpl.h"

void glint_matmul_init_dotprod(struct glint_matmul_kernels *kernels) {
    fill_multiply(kernels);
}
