// SPDX-License-Identifier: Apache-2.0
// op_fixture.h — what the op tests share: reproducible values, an opened backend, key/value
// pages that lie in any order, and comparisons that name the first bad value.
#ifndef GLINT_TESTS_OP_FIXTURE_H
#define GLINT_TESTS_OP_FIXTURE_H

#include "cpu/cpu.h"

#include <stdint.h>

struct op_random {
    uint64_t state;
};
uint32_t op_random_next(struct op_random *random);
// Uniform in [-1, 1).
float op_random_float(struct op_random *random);
// n values in [-scale, scale); with `heavy`, one in 64 is 30 times that.
void op_random_fill(struct op_random *random, float *x, int64_t n, float scale, bool heavy);

// Memory that ends the program when there is none.
void *op_alloc(size_t count, size_t size);

// Fails the test when the tier cannot be opened. NULL: the best.
struct glint_backend *op_open(const char *tier, int n_threads);
// Rows, columns, heads, context and head width that op_open allows.
enum {
    OP_MAX_ROWS = 64,
    OP_MAX_COL = 4096,
    OP_MAX_HEAD = 64,
    OP_MAX_CONTEXT = 8192,
    OP_MAX_DIM = 160
};

struct op_plane {
    struct glint_kv_plane plane;
    int32_t *page; // [n_table] of the only sequence
    struct glint_kv_table table;
};
// n_table pages at places drawn from `seed`; seed 0 keeps them in order. Bytes are NaN
// until stored: nothing may look at a row that was never written.
void op_plane_open(struct op_plane *plane, const struct glint_kv_plane *shape, int n_table,
                   uint64_t seed);
void op_plane_close(struct op_plane *plane);

// |got - want| <= tolerance * max |want| over the row of n values.
void op_assert_close(const float *got, const float *want, int64_t n, double tolerance);
void op_assert_same_bits(const float *got, const float *want, int64_t n);

#endif
