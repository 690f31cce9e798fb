// SPDX-License-Identifier: Apache-2.0
// matmul: every weight type on every tier of this machine. Three claims:
// - products are near decode-and-multiply in double (tolerance.h; docs/numerics.md);
// - all tiers give the bits of the scalar one;
// - a row's result has the same bits whatever the number of rows, its neighbours, and the number
//   of threads.
#include "base/alloc.h"
#include "base/half.h"
#include "op/op_fixture.h"
#include "sanitized.h"
#include "tolerance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct glint_backend *open_for(const char *tier, int n_threads, int n, int64_t n_col) {
    struct glint_cpu_params params = {
        .n_threads = n_threads, .tier = tier, .limits = {n, (int)n_col, 1, 1, 16}};
    struct glint_backend *backend;
    struct glint_error err;
    if (glint_cpu_open(&backend, &params, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    return backend;
}

struct sample {
    const struct glint_dtype_info *info;
    struct glint_matrix w;
    char *bytes; // exactly the matrix, so that the sanitizer sees a read past its end
    float *x;    // [n, n_col]
    int n;
    bool exact;
};

// Any bits for codes and packed scales, modest binary16 factors of both signs: reaches what an
// encoder never writes. Every type keeps its factors in different places, so those are found by
// decoding: words that would make a value infinite or huge are drawn again.
static void fill_wild(struct sample *sample, struct op_random *random) {
    size_t n_block = (size_t)(sample->w.n_row * sample->w.n_col) / sample->info->block_len;
    for (size_t b = 0; b < n_block; b++) {
        uint8_t *block = (uint8_t *)sample->bytes + b * sample->info->block_bytes;
        float value[256];
        bool tame;
        do {
            for (size_t i = 0; i < sample->info->block_bytes; i++)
                block[i] = (uint8_t)op_random_next(random);
            sample->info->decode(block, value, sample->info->block_len);
            tame = true;
            for (uint32_t i = 0; i < sample->info->block_len; i++)
                tame = tame && fabsf(value[i]) < 1e6f; // false for NaN
        } while (!tame);
    }
}

static struct sample sample_open(const struct glint_dtype_info *info, int64_t n_row, int64_t n_col,
                                 int n, uint64_t seed) {
    struct sample sample = {.info = info, .n = n};
    struct op_random random = {seed};
    size_t row_bytes = glint_dtype_bytes(info->dtype, (uint64_t)n_col);
    sample.bytes = op_alloc((size_t)n_row, row_bytes);
    sample.w = (struct glint_matrix){sample.bytes, info->dtype, n_row, n_col, row_bytes};
    if (seed % 2 == 1 && !info->is_float)
        fill_wild(&sample, &random);
    else {
        float *values = op_alloc((size_t)n_col, sizeof *values);
        for (int64_t r = 0; r < n_row; r++) {
            op_random_fill(&random, values, n_col, 0.05f, r % 2 == 1);
            info->encode(values, NULL, sample.bytes + (size_t)r * row_bytes, (size_t)n_col);
        }
        glint_free(values);
    }
    sample.x = op_alloc((size_t)n * (size_t)n_col, sizeof(float));
    for (int t = 0; t < n; t++)
        op_random_fill(&random, sample.x + t * n_col, n_col, t % 5 == 3 ? 1e-3f : 4, t % 3 == 1);
    return sample;
}

static void sample_close(struct sample *sample) {
    glint_free(sample->bytes);
    glint_free(sample->x);
}

static float *multiply_rows(struct glint_backend *backend, const struct sample *sample, int begin,
                            int n) {
    float *out = op_alloc((size_t)n * (size_t)sample->w.n_row, sizeof *out);
    memset(out, 0xff, (size_t)n * (size_t)sample->w.n_row * sizeof *out);
    backend->ops.matmul(backend, &(struct glint_op_matmul){
                                     .x = sample->x + begin * sample->w.n_col,
                                     .n = n,
                                     .n_matrix = 1,
                                     .w = {&sample->w},
                                     .out = {out},
                                     .exact = sample->exact,
                                 });
    return out;
}

static void assert_near_double(const struct sample *sample, const float *out) {
    const struct glint_matrix *w = &sample->w;
    bool integer = !sample->exact && !sample->info->is_float;
    double limit = integer ? GLINT_TOLERANCE_MATMUL_INT8 : GLINT_TOLERANCE_MATMUL_FLOAT;
    float *row = op_alloc((size_t)w->n_col, sizeof *row);
    for (int64_t r = 0; r < w->n_row; r++) {
        sample->info->decode(sample->bytes + (size_t)r * w->row_bytes, row, (size_t)w->n_col);
        for (int t = 0; t < sample->n; t++) {
            const float *x = sample->x + t * w->n_col;
            double sum = 0, ww = 0, xx = 0;
            for (int64_t c = 0; c < w->n_col; c++) {
                sum += (double)row[c] * x[c];
                ww += (double)row[c] * row[c];
                xx += (double)x[c] * x[c];
            }
            double error = fabs(out[t * w->n_row + r] - sum) / (sqrt(ww * xx) + 1e-30);
            if (!(error <= limit))
                fail_msg("%s %ldx%ld: row %ld of x %d: got %g, want %g, error %g",
                         sample->info->name, (long)w->n_row, (long)w->n_col, (long)r, t,
                         (double)out[t * w->n_row + r], sum, error);
        }
    }
    glint_free(row);
}

// Rows [begin, begin + n) alone equal the same rows of the whole batch.
static void assert_same_rows(struct glint_backend *backend, const struct sample *sample,
                             const float *whole, int begin, int n) {
    float *part = multiply_rows(backend, sample, begin, n);
    op_assert_same_bits(part, whole + begin * sample->w.n_row, n * sample->w.n_row);
    glint_free(part);
}

static void check_sample(const struct sample *sample) {
    static const int counts[] = {1, 2, 3, 4, 5, 7, 8, 16};
    struct glint_backend *scalar = open_for("scalar", 2, sample->n, sample->w.n_col);
    float *want = multiply_rows(scalar, sample, 0, sample->n);
    assert_near_double(sample, want);
    scalar->close(scalar);
    const char *tier;
    for (size_t i = 0; (tier = glint_cpu_tier_at(i)) != NULL; i++) {
        for (int n_threads = GLINT_SANITIZED ? 3 : 1; n_threads <= 3; n_threads++) {
            struct glint_backend *backend = open_for(tier, n_threads, sample->n, sample->w.n_col);
            float *whole = multiply_rows(backend, sample, 0, sample->n);
            op_assert_same_bits(whole, want, sample->n * sample->w.n_row);
            for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++)
                if (counts[k] <= sample->n) {
                    assert_same_rows(backend, sample, whole, 0, counts[k]);
                    assert_same_rows(backend, sample, whole, sample->n - counts[k], counts[k]);
                }
            glint_free(whole);
            backend->close(backend);
        }
    }
    glint_free(want);
}

static void check_shape(const struct glint_dtype_info *info, int64_t n_row, int64_t n_col, int n) {
    for (int kind = 0; kind < (info->is_float ? 1 : 3); kind += GLINT_SANITIZED ? 2 : 1) {
        uint64_t seed = 2 * (uint64_t)(n_row * 8192 + n_col) + (kind == 1);
        struct sample sample = sample_open(info, n_row, n_col, n, seed);
        sample.exact = kind == 2;
        check_sample(&sample);
        sample_close(&sample);
    }
}

static void test_every_type_and_shape(void **state) {
    (void)state;
    static const struct {
        int64_t n_row;
        int64_t n_col; // rounded up to the block length
        int n;
    } shape[] = {
        {1, 1, 3}, {3, 33, 4}, {16, 256, 33}, {33, 300, 9}, {70, 1290, 17}, {100, 2304, 2},
    };
    const struct glint_dtype_info *info;
    for (size_t i = 0; (info = glint_dtype_at(i)) != NULL; i++)
        for (size_t k = 0; k < sizeof shape / sizeof shape[0]; k++) {
            if (GLINT_SANITIZED && (i + k) % 2 == 1)
                continue; // each type still meets three shapes
            int64_t block = info->block_len;
            int64_t n_col = (shape[k].n_col + block - 1) / block * block;
            check_shape(info, shape[k].n_row, n_col, shape[k].n);
        }
}

// More rows of x than one chunk, and than one block of the float path.
static void test_many_rows(void **state) {
    (void)state;
    check_shape(glint_dtype_info(GLINT_DTYPE_Q4_K), 40, 256, 530);
    check_shape(glint_dtype_info(GLINT_DTYPE_Q8_0), 5, 64, 530);
    check_shape(glint_dtype_info(GLINT_DTYPE_BF16), 9, 40, 150);
}

// Rows a multiple of 4,096 bytes apart, or nearly: the model's ffn_down is such a matrix. And so
// many columns that several panels of many rows take turns.
static void test_wide(void **state) {
    (void)state;
    check_shape(glint_dtype_info(GLINT_DTYPE_Q6_K), 70, 19968, 1);
    check_shape(glint_dtype_info(GLINT_DTYPE_Q4_0), 33, 7296, 1);
    check_shape(glint_dtype_info(GLINT_DTYPE_Q8_0), 100, 8192, GLINT_SANITIZED ? 18 : 66);
}

// Four matrices of different types and heights share x; each gives the bits it gives alone.
static void test_shared_x(void **state) {
    (void)state;
    static const enum glint_dtype dtype[4] = {GLINT_DTYPE_Q4_K, GLINT_DTYPE_Q6_K, GLINT_DTYPE_BF16,
                                              GLINT_DTYPE_Q8_0};
    const char *tier;
    for (size_t i = 0; (tier = glint_cpu_tier_at(i)) != NULL; i++) {
        struct glint_backend *backend = open_for(tier, 2, 6, 512);
        struct sample sample[4];
        struct glint_op_matmul op = {.n = 6, .n_matrix = 4};
        for (int m = 0; m < 4; m++) {
            sample[m] =
                sample_open(glint_dtype_info(dtype[m]), 40 + 30 * m, 512, 6, 2 * (uint64_t)m);
            op.w[m] = &sample[m].w;
            op.out[m] = op_alloc((size_t)(6 * sample[m].w.n_row), sizeof(float));
        }
        op.x = sample[0].x;
        backend->ops.matmul(backend, &op);
        for (int m = 0; m < 4; m++) {
            memcpy(sample[m].x, sample[0].x, 6 * 512 * sizeof(float));
            float *alone = multiply_rows(backend, &sample[m], 0, 6);
            op_assert_same_bits(op.out[m], alone, 6 * sample[m].w.n_row);
            glint_free(alone);
            glint_free(op.out[m]);
        }
        for (int m = 0; m < 4; m++)
            sample_close(&sample[m]);
        backend->close(backend);
    }
}

// A value that is not a number is not lost, nor spread to other rows; tiny rows give zeros.
static void test_odd_values(void **state) {
    (void)state;
    const char *tier;
    for (size_t i = 0; (tier = glint_cpu_tier_at(i)) != NULL; i++) {
        struct glint_backend *backend = open_for(tier, 1, 4, 256);
        struct sample sample = sample_open(glint_dtype_info(GLINT_DTYPE_Q6_K), 20, 256, 4, 8);
        sample.x[0 * 256 + 77] = NAN;
        sample.x[1 * 256 + 0] = INFINITY;
        for (int c = 0; c < 256; c++)
            sample.x[2 * 256 + c] = 1e-44f;
        float *out = multiply_rows(backend, &sample, 0, 4);
        for (int r = 0; r < 20; r++) {
            assert_true(isnan(out[r]));
            assert_true(isnan(out[20 + r]));
            assert_true(out[40 + r] == 0);
            assert_true(isfinite(out[60 + r]));
        }
        glint_free(out);
        sample_close(&sample);
        backend->close(backend);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_and_shape),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_shared_x),
        cmocka_unit_test(test_odd_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
