// SPDX-License-Identifier: Apache-2.0
// The search for scales: tiers give the scalar bits, and fits beat or equal what is obvious.
#include "base/half.h"
#include "quant/fit_kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LANES = GLINT_FIT_LANES };

static float noise(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(int32_t)(*seed >> 8) * 0x1p-23f - 1.0f;
}

// Groups of very different sizes, one constant, one zero.
static void fill(struct glint_fit_values *values, int n, uint32_t seed) {
    float raw[GLINT_FIT_VALUES];
    for (int i = 0; i < LANES * n; i++) {
        int group = i / n;
        raw[i] = noise(&seed) * (float)(1 << group) * 1e-3f;
        if (group == 2)
            raw[i] = 0.0f;
        if (group == 3)
            raw[i] = -0.7f;
        if (group == 4)
            raw[i] = fabsf(raw[i]) + 3.0f;
    }
    glint_fit_fill(values, raw, NULL, LANES, n);
}

#ifdef GLINT_FIT_AVX2
static void check_tier(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                       uint32_t *seed) {
    const struct glint_fit_kernels *scalar = &glint_fit_kernels_scalar;
    const struct glint_fit_kernels *tier = &glint_fit_kernels_avx2;
    struct glint_fit_scales scales;
    struct glint_fit_sums sums[2];
    float inverse[LANES], error[2][LANES], scale[2][LANES] = {{0}}, gain[2][LANES] = {{0}};
    struct glint_fit_state state[2];
    memset(&state[0], 0, sizeof state[0]);
    for (int j = 0; j < LANES; j++) {
        scales.scale[j] = j == 5 ? 0.0f : fabsf(noise(seed)) * 1e-2f;
        scales.min[j] = -fabsf(noise(seed)) * 1e-2f;
        inverse[j] = glint_fit_inverse(scales.scale[j]);
        state[0].top_min[j] = j % 2 ? 0.0f : INFINITY;
        state[0].error[j] = j == 6 ? 0.0f : INFINITY;
        for (int i = 0; i < tile->n; i++) {
            float x = tile->x[i * LANES + j], w = tile->w[i * LANES + j];
            state[0].w[j] += w;
            state[0].wx[j] += w * x;
            state[0].wxx[j] += w * x * x;
        }
    }
    state[1] = state[0];
    scalar->sum(tile, codes, inverse, scales.min, &sums[0]);
    tier->sum(tile, codes, inverse, scales.min, &sums[1]);
    assert_memory_equal(&sums[0], &sums[1], sizeof sums[0]);
    scalar->error(tile, codes, &scales, inverse, error[0]);
    tier->error(tile, codes, &scales, inverse, error[1]);
    assert_memory_equal(error[0], error[1], sizeof error[0]);
    scalar->solve(&state[0], &sums[0]);
    tier->solve(&state[1], &sums[0]);
    for (int j = 0; j < LANES; j++) { // zeros may differ in sign
        assert_true(state[0].best.scale[j] == state[1].best.scale[j]);
        assert_true(state[0].best.min[j] == state[1].best.min[j]);
        assert_true(state[0].error[j] == state[1].error[j]);
    }
    scalar->solve_signed(scale[0], gain[0], &sums[0]);
    tier->solve_signed(scale[1], gain[1], &sums[0]);
    assert_memory_equal(scale[0], scale[1], sizeof scale[0]);
    assert_memory_equal(gain[0], gain[1], sizeof gain[0]);
}

static void test_tiers_give_the_same_bits(void **state) {
    (void)state;
    if (glint_fit_kernels() == &glint_fit_kernels_scalar)
        skip();
    const float highs[] = {3.0f, 15.0f, 31.0f};
    struct glint_fit_values values;
    uint32_t seed = 1;
    for (uint32_t round = 0; round < 300; round++) {
        int n = round % 2 ? 16 : 32;
        fill(&values, n, round);
        struct glint_fit_tile tile = glint_fit_tile_at(&values, n, 0);
        float high = highs[round % 3], low = round % 5 == 0 ? -high - 1.0f : 0.0f;
        check_tier(&tile, (struct glint_fit_codes){low, high}, &seed);
    }
}
#endif

static void test_affine_beats_the_range(void **state) {
    (void)state;
    struct glint_fit_values values;
    for (uint32_t round = 0; round < 50; round++) {
        fill(&values, 32, round);
        struct glint_fit_tile tile = glint_fit_tile_at(&values, 32, 0);
        struct glint_fit_codes codes = {0.0f, 15.0f};
        struct glint_fit_scales range, best;
        float range_error[LANES], best_error[LANES];
        for (int j = 0; j < LANES; j++) {
            float low = tile.x[j], high = tile.x[j];
            for (int i = 0; i < 32; i++) {
                low = fminf(low, tile.x[i * LANES + j]);
                high = fmaxf(high, tile.x[i * LANES + j]);
            }
            range.min[j] = low;
            range.scale[j] = (high - low) / 15.0f;
        }
        glint_fit_affine(&tile, 15.0f, INFINITY, &best);
        glint_fit_error(&tile, codes, &range, range_error);
        glint_fit_error(&tile, codes, &best, best_error);
        for (int j = 0; j < LANES; j++)
            if (!(best_error[j] <= range_error[j] + 1e-12f))
                fail_msg("round %u lane %d: %g, range %g", round, j, (double)best_error[j],
                         (double)range_error[j]);
    }
}

static void test_min_respects_its_bound(void **state) {
    (void)state;
    struct glint_fit_values values;
    struct glint_fit_scales best;
    for (uint32_t round = 0; round < 50; round++) {
        fill(&values, 32, round);
        struct glint_fit_tile tile = glint_fit_tile_at(&values, 32, 0);
        glint_fit_affine(&tile, 15.0f, 0.0f, &best);
        for (int j = 0; j < LANES; j++)
            assert_true(best.min[j] <= 0.0f && best.scale[j] >= 0.0f);
    }
}

static void test_signed_uses_the_longer_side(void **state) {
    (void)state;
    struct glint_fit_values values;
    float raw[LANES * 16], error[LANES];
    for (int i = 0; i < LANES * 16; i++)
        raw[i] = (i / 16 % 2 ? 0.25f : -0.25f) * (float)(i % 16 - 8);
    glint_fit_fill(&values, raw, NULL, LANES, 16);
    struct glint_fit_tile tile = glint_fit_tile_at(&values, 16, 0);
    struct glint_fit_scales best;
    glint_fit_signed(&tile, 8.0f, &best);
    glint_fit_error(&tile, (struct glint_fit_codes){-8.0f, 7.0f}, &best, error);
    for (int j = 0; j < LANES; j++) {
        assert_true(fabsf(best.scale[j] - (j % 2 ? 0.25f : -0.25f)) < 1e-4f);
        assert_true(error[j] < 1e-6f);
    }
}

static void test_half_stays_finite(void **state) {
    (void)state;
    assert_int_equal(glint_fit_half(1e30f), 0x7bff);
    assert_int_equal(glint_fit_half(-1e30f), 0xfbff);
    assert_int_equal(glint_fit_half(1.0f), 0x3c00);
    assert_int_equal(glint_fit_half(1e-30f), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#ifdef GLINT_FIT_AVX2
        cmocka_unit_test(test_tiers_give_the_same_bits),
#endif
        cmocka_unit_test(test_affine_beats_the_range),
        cmocka_unit_test(test_min_respects_its_bound),
        cmocka_unit_test(test_signed_uses_the_longer_side),
        cmocka_unit_test(test_half_stays_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
