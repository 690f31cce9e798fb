// SPDX-License-Identifier: Apache-2.0
// cpu_backend.h — the CPU backend's own fields, seen by the files of this folder only.
// The ops (rows.c, attention_blocks.c, matmul.c) divide the work over the pool; the kernels they
// call handle one row, one range or one attention block each and are what a tier replaces.
#ifndef GLINT_CPU_CPU_BACKEND_H
#define GLINT_CPU_CPU_BACKEND_H

#include "base/arena.h"
#include "base/pool.h"
#include "cpu/cpu.h"
#include "cpu/features.h"

struct glint_attention_block; // cpu/attention_blocks.h
struct glint_attention;       // cpu/attention_blocks.c
struct glint_rope_cache;      // cpu/rows.c
struct glint_cpu_matmul;      // cpu/matmul.c

// A kernel's result for a value depends on that value's row alone, in a fixed order of
// operations per tier: never on the length of a range or on neighbours.
struct glint_cpu_kernels {
    // out may be x; gain may be NULL.
    void (*rms_norm)(float *out, const float *x, const float *gain, float epsilon, int width);
    // h += rms_norm(y)
    void (*add_rms_norm)(float *h, const float *y, const float *gain, float epsilon, int width);
    void (*layer_norm)(float *out, const float *x, const struct glint_op_layer_norm *op);
    // x += y + bias; y and bias may be NULL.
    void (*add)(float *x, const float *y, const float *bias, int width);
    void (*gelu)(float *x, const float *bias, int width); // bias may be NULL
    // Turns pair (2i, 2i+1) of x [2 * n_pair] by the angle of turn [n_pair][2: cos, sin].
    void (*rotate)(float *x, const float *turn, int n_pair);
    // The same for pairs (i, i + n_pair).
    void (*rotate_halves)(float *x, const float *turn, int n_pair);
    void (*half_from_float)(uint16_t *out, const float *x, int64_t n);
    void (*gate)(float *a, const float *g, int64_t n);
    void (*swiglu)(float *gate, const float *up, int64_t n);
    void (*softcap)(float *x, int64_t n, float scale, float cap);
    int32_t (*best)(const float *x, int width);
    // The softmax of one block of query vectors over the keys of one split.
    void (*attention_split)(const struct glint_attention_block *block);
};

struct glint_cpu {
    struct glint_backend base; // first
    enum glint_cpu_tier tier;
    struct glint_backend_limits limits;
    struct glint_pool *pool; // owned
    int n_workers;
    struct glint_cpu_kernels kernels;
    struct glint_attention *attention; // owned scratch of attention_blocks.c
    struct glint_rope_cache *rope;     // owned scratch of rows.c
    struct glint_cpu_matmul *matmul;   // owned state of matmul.c
};

static inline struct glint_cpu *glint_cpu_of(struct glint_backend *backend) {
    return (struct glint_cpu *)backend;
}

// One function a tier, in rising order; each overwrites the kernels it has. Tier files are built
// only where the compiler can.
void glint_cpu_init_scalar(struct glint_cpu_kernels *kernels);
void glint_cpu_init_avx2(struct glint_cpu_kernels *kernels);
void glint_cpu_init_avx512(struct glint_cpu_kernels *kernels);
void glint_cpu_init_neon(struct glint_cpu_kernels *kernels);
// Their attention files.
void glint_cpu_init_attention_scalar(struct glint_cpu_kernels *kernels);
void glint_cpu_init_attention_avx2(struct glint_cpu_kernels *kernels);
void glint_cpu_init_attention_avx512(struct glint_cpu_kernels *kernels);
void glint_cpu_init_attention_neon(struct glint_cpu_kernels *kernels);

// Calls fn(context, i, n) on every worker, or on this thread alone when `work` (about one cycle
// a unit) is less than waking the others costs. Results never depend on which.
void glint_cpu_run(struct glint_cpu *cpu, int64_t work, glint_pool_fn fn, void *context);

// rows.c: all ops but matmul and attention.
enum glint_status glint_cpu_rows_open(struct glint_cpu *cpu, struct glint_error *err);
void glint_cpu_rows_close(struct glint_cpu *cpu);
void glint_cpu_rows_fill(struct glint_backend_ops *ops);

#endif
