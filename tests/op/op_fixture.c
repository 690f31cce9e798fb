// SPDX-License-Identifier: Apache-2.0
// op_fixture.c — see op_fixture.h.
#include "op/op_fixture.h"

#include "base/alloc.h"
#include "base/half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

uint32_t op_random_next(struct op_random *random) {
    random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t x = random->state;
    return (uint32_t)((x ^ (x >> 29)) >> 27);
}

float op_random_float(struct op_random *random) {
    return (float)((int32_t)op_random_next(random) >> 8) * 0x1p-23f;
}

void op_random_fill(struct op_random *random, float *x, int64_t n, float scale, bool heavy) {
    for (int64_t i = 0; i < n; i++) {
        x[i] = scale * op_random_float(random);
        if (heavy && op_random_next(random) % 64 == 0)
            x[i] *= 30;
    }
}

void *op_alloc(size_t count, size_t size) {
    void *block = glint_alloc(count, size);
    if (block == NULL)
        abort();
    return block;
}

struct glint_backend *op_open(const char *tier, int n_threads) {
    struct glint_cpu_params params = {
        .n_threads = n_threads,
        .tier = tier,
        .limits = {OP_MAX_ROWS, OP_MAX_COL, OP_MAX_HEAD, OP_MAX_CONTEXT, OP_MAX_DIM},
    };
    struct glint_backend *backend;
    struct glint_error err;
    if (glint_cpu_open(&backend, &params, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    return backend;
}

void op_plane_open(struct op_plane *plane, const struct glint_kv_plane *shape, int n_table,
                   uint64_t seed) {
    plane->plane = *shape;
    plane->plane.page_bytes = (size_t)shape->n_layer * glint_kv_layer_bytes(shape);
    plane->plane.n_page = n_table;
    plane->plane.pages = op_alloc((size_t)n_table, plane->plane.page_bytes);
    memset(plane->plane.pages, 0xff, (size_t)n_table * plane->plane.page_bytes);
    plane->page = op_alloc((size_t)n_table, sizeof *plane->page);
    struct op_random random = {seed};
    for (int i = 0; i < n_table; i++) {
        int j = seed == 0 ? i : (int)(op_random_next(&random) % (uint32_t)(i + 1));
        plane->page[i] = plane->page[j];
        plane->page[j] = i;
    }
    plane->table = (struct glint_kv_table){plane->page, n_table};
}

void op_plane_close(struct op_plane *plane) {
    glint_free(plane->plane.pages);
    glint_free(plane->page);
}

void op_assert_close(const float *got, const float *want, int64_t n, double tolerance) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)want[i]));
    for (int64_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - want[i]);
        if (!(error <= tolerance * largest))
            fail_msg("value %ld of %ld: got %.9g, want %.9g, row maximum %g", (long)i, (long)n,
                     (double)got[i], (double)want[i], largest);
    }
}

void op_assert_same_bits(const float *got, const float *want, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (glint_float_bits(got[i]) != glint_float_bits(want[i]))
            fail_msg("value %ld of %ld: got %.9g, want the bits of %.9g", (long)i, (long)n,
                     (double)got[i], (double)want[i]);
}
