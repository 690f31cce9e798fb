// SPDX-License-Identifier: Apache-2.0
// matmul.h — what cpu.c calls of the matrix products. Everything else about them is behind
// struct glint_cpu_matmul, which matmul.c owns.
#ifndef GLINT_CPU_MATMUL_H
#define GLINT_CPU_MATMUL_H

#include "op/backend.h"

struct glint_cpu;

// Called once at open with tier, limits and pool set; fills cpu->matmul and its scratch.
enum glint_status glint_cpu_matmul_open(struct glint_cpu *cpu, struct glint_error *err);
void glint_cpu_matmul_close(struct glint_cpu *cpu); // accepts a failed open
// Prepares a weight matrix.
enum glint_status glint_cpu_matmul_bind(struct glint_cpu *cpu, struct glint_matrix *matrix,
                                        struct glint_error *err);
void glint_cpu_matmul(struct glint_backend *backend, const struct glint_op_matmul *op);

#endif
