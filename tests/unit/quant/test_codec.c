// SPDX-License-Identifier: Apache-2.0
// Decoders, bit by bit, against golden/quant (blocks made by llama.cpp, floats by an independent
// decoder); encoders, by their error, against the same blocks and on values at the edges.
#include "base/half.h"
#include "quant/dtype.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { N_SOURCE = 3328, N_RANDOM = 512, N_ALL = N_SOURCE + N_RANDOM };

// Rows of golden/quant/source.f32, as make_quant_golden.py lays them out.
static const struct {
    const char *name;
    size_t n;
} rows[] = {{"normal", 1024}, {"heavy", 1024},   {"uniform", 256}, {"constant", 256},
            {"zero", 256},    {"negative", 256}, {"spike", 256}};

// [N_ALL]; F32 blocks are the largest.
static float source[N_ALL], golden[N_ALL], decoded[N_ALL];
static uint8_t blocks[N_ALL * 4], ours[N_ALL * 4];

static void read_golden(const char *name, const char *ending, void *out, size_t n_bytes) {
    char path[100];
    snprintf(path, sizeof path, "golden/quant/%s.%s", name, ending);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    assert_int_equal(fread(out, 1, n_bytes, file), n_bytes);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
}

static double square_error(const float *a, const float *b, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        double miss = (double)a[i] - (double)b[i];
        sum += miss * miss;
    }
    return sum;
}

static void test_decode_matches_golden(void **state) {
    (void)state;
    for (size_t t = 0; glint_dtype_at(t) != NULL; t++) {
        const struct glint_dtype_info *info = glint_dtype_at(t);
        if (info->is_float)
            continue;
        read_golden(info->name, "blocks", blocks, glint_dtype_bytes(info->dtype, N_ALL));
        read_golden(info->name, "f32", golden, sizeof golden);
        info->decode(blocks, decoded, N_ALL);
        for (size_t i = 0; i < N_ALL; i++) {
            if (glint_float_bits(decoded[i]) != glint_float_bits(golden[i]))
                fail_msg("%s value %zu: %a, expected %a", info->name, i, (double)decoded[i],
                         (double)golden[i]);
        }
    }
}

static void test_encode_is_as_good_as_golden(void **state) {
    (void)state;
    read_golden("source", "f32", source, N_SOURCE * sizeof(float));
    for (size_t t = 0; glint_dtype_at(t) != NULL; t++) {
        const struct glint_dtype_info *info = glint_dtype_at(t);
        if (info->is_float)
            continue;
        read_golden(info->name, "f32", golden, sizeof golden);
        info->encode(source, NULL, ours, N_SOURCE);
        info->decode(ours, decoded, N_SOURCE);
        size_t at = 0;
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            double error = square_error(decoded + at, source + at, rows[r].n);
            double limit = 1.03 * square_error(golden + at, source + at, rows[r].n);
            if (!(error <= limit))
                fail_msg("%s, %s row: error %g, limit %g", info->name, rows[r].name, error, limit);
            at += rows[r].n;
        }
    }
}

// Encoding what was decoded must not drift: the grid points are there to be found.
static void test_encode_keeps_grid_points(void **state) {
    (void)state;
    for (size_t t = 0; glint_dtype_at(t) != NULL; t++) {
        const struct glint_dtype_info *info = glint_dtype_at(t);
        if (info->is_float)
            continue;
        read_golden(info->name, "f32", golden, sizeof golden);
        info->encode(golden, NULL, ours, 1024);
        info->decode(ours, decoded, 1024);
        double power = square_error(golden, (float[1024]){0}, 1024);
        assert_true(square_error(decoded, golden, 1024) <= 2e-2 * power);
    }
}

static void test_float_types_round(void **state) {
    (void)state;
    const float values[6] = {1.0f, -0.1f, 65504.0f, 1e30f, 6e-8f, 0.0f};
    for (size_t t = 0; t < 3; t++) {
        const struct glint_dtype_info *info = glint_dtype_at(t);
        assert_true(info->is_float);
        info->encode(values, NULL, ours, 6);
        info->decode(ours, decoded, 6);
        assert_true(decoded[0] == 1.0f && decoded[2] >= 65504.0f && decoded[5] == 0.0f);
        assert_true(fabsf(decoded[1] + 0.1f) <= 0.1f / 256.0f);
        assert_true(isfinite(decoded[3]) && decoded[3] >= 65504.0f);
        assert_true(decoded[4] > 5e-8f && decoded[4] < 7e-8f);
    }
}

// A generator good enough for tests: 24 bits, -1..1.
static float noise(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(int32_t)(*seed >> 8) * 0x1p-23f - 1.0f;
}

// One block or row of 512 values of the given size, mixed in different ways.
static void fill_edge(float *out, int kind, float size) {
    uint32_t seed = 7;
    for (int i = 0; i < 512; i++) {
        float x = noise(&seed);
        if (kind == 1)
            x = 1.0f;
        if (kind == 2)
            x = -1.0f;
        if (kind == 3)
            x = i == 300 ? 1.0f : 0.0f;
        if (kind == 4)
            x = i % 2 ? 1.0f : x * 1e-6f;
        if (kind == 5)
            x = -fabsf(x);
        out[i] = x * size;
    }
}

static void check_edge(const struct glint_dtype_info *info, int kind, float size) {
    fill_edge(source, kind, size);
    info->encode(source, NULL, ours, 512);
    info->decode(ours, decoded, 512);
    for (int i = 0; i < 512; i++) {
        if (!isfinite(decoded[i]))
            fail_msg("%s, kind %d, size %g: value %d not finite", info->name, kind, (double)size,
                     i);
    }
    // Inside the range of every type's scales the error is that of the code's step.
    if (size < 1e-4f || size > 1e4f)
        return;
    for (int i = 0; i < 512; i++) {
        if (!(fabsf(decoded[i] - source[i]) <= 0.4f * size))
            fail_msg("%s, kind %d, size %g: value %d is %g, was %g", info->name, kind, (double)size,
                     i, (double)decoded[i], (double)source[i]);
    }
}

static void test_edges_stay_finite(void **state) {
    (void)state;
    const float sizes[] = {0.0f, 1e-45f, 1e-38f, 1e-20f, 1e-8f, 1e-6f, 1e-4f,  1.0f,
                           1e4f, 1e6f,   1e9f,   1e19f,  1e30f, 3e38f, 3.4e38f};
    for (size_t t = 0; glint_dtype_at(t) != NULL; t++) {
        for (int kind = 0; kind < 6; kind++) {
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
                check_edge(glint_dtype_at(t), kind, sizes[s]);
        }
    }
}

// Values below the smallest binary16 scale times the largest integer scale must not vanish.
static void test_tiny_values_survive(void **state) {
    (void)state;
    const enum glint_dtype k_types[] = {GLINT_DTYPE_Q2_K, GLINT_DTYPE_Q3_K, GLINT_DTYPE_Q4_K,
                                        GLINT_DTYPE_Q5_K, GLINT_DTYPE_Q6_K};
    fill_edge(source, 0, 2e-6f);
    for (size_t t = 0; t < 5; t++) {
        const struct glint_dtype_info *info = glint_dtype_info((uint32_t)k_types[t]);
        info->encode(source, NULL, ours, 512);
        info->decode(ours, decoded, 512);
        double power = square_error(source, (float[512]){0}, 512);
        assert_true(square_error(source, decoded, 512) < 0.3 * power);
    }
}

static void test_importance_moves_the_error(void **state) {
    (void)state;
    static float importance[1024];
    read_golden("source", "f32", source, N_SOURCE * sizeof(float));
    for (int i = 0; i < 1024; i++)
        importance[i] = i % 4 == 0 ? 100.0f : 1.0f;
    for (size_t t = 0; glint_dtype_at(t) != NULL; t++) {
        const struct glint_dtype_info *info = glint_dtype_at(t);
        if (info->is_float || info->dtype == GLINT_DTYPE_Q8_0)
            continue;
        double plain = 0.0, weighted = 0.0;
        info->encode(source, NULL, ours, 1024);
        info->decode(ours, decoded, 1024);
        for (int i = 0; i < 1024; i += 4)
            plain += square_error(decoded + i, source + i, 1);
        info->encode(source, importance, ours, 1024);
        info->decode(ours, decoded, 1024);
        for (int i = 0; i < 1024; i += 4)
            weighted += square_error(decoded + i, source + i, 1);
        if (!(weighted < 0.9 * plain))
            fail_msg("%s: error %g of important values, %g without", info->name, weighted, plain);
    }
}

// Importance of any size, zeros included, is only relative.
static void test_importance_at_its_edges(void **state) {
    (void)state;
    static float importance[512];
    const float sizes[] = {0.0f, 1e-30f, 1.0f, 1e30f};
    fill_edge(source, 0, 1.0f);
    for (size_t t = 0; glint_dtype_at(t) != NULL; t++) {
        const struct glint_dtype_info *info = glint_dtype_at(t);
        for (size_t s = 0; s < 4; s++) {
            for (int i = 0; i < 512; i++)
                importance[i] = i / 100 == 1 ? 0.0f : sizes[s];
            info->encode(source, importance, ours, 512);
            info->decode(ours, decoded, 512);
            for (int i = 0; i < 512; i++)
                assert_true(fabsf(decoded[i] - source[i]) <= 0.6f);
        }
    }
}

// A block does not depend on what is encoded beside it, whatever the length.
static void test_blocks_are_independent(void **state) {
    (void)state;
    read_golden("source", "f32", source, N_SOURCE * sizeof(float));
    for (size_t t = 0; glint_dtype_at(t) != NULL; t++) {
        const struct glint_dtype_info *info = glint_dtype_at(t);
        size_t n = info->block_len == 256 ? 512 : 352;
        info->encode(source, NULL, blocks, n);
        for (size_t i = 0; i < n; i += info->block_len)
            info->encode(source + i, NULL, ours + i / info->block_len * info->block_bytes,
                         info->block_len);
        assert_memory_equal(blocks, ours, glint_dtype_bytes(info->dtype, n));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_matches_golden),
        cmocka_unit_test(test_encode_is_as_good_as_golden),
        cmocka_unit_test(test_encode_keeps_grid_points),
        cmocka_unit_test(test_float_types_round),
        cmocka_unit_test(test_edges_stay_finite),
        cmocka_unit_test(test_tiny_values_survive),
        cmocka_unit_test(test_importance_moves_the_error),
        cmocka_unit_test(test_importance_at_its_edges),
        cmocka_unit_test(test_blocks_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
