// SPDX-License-Identifier: Apache-2.0
// The functions of simd.h against double, over their whole range, and its memory edges. Built
// once a tier (test_simd_avx2, test_simd_avx512), with that tier's flags; main is in
// simd_main.c, which has none.
#include "unit/cpu/simd_main.h"

#include "cpu/simd.h"

#include "base/half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static float one_exp(float x) {
    float out[16];
    vec_store(out, vec_exp(vec_set(x)));
    return out[5];
}
static float one_sigmoid(float x) {
    float out[16];
    vec_store(out, vec_sigmoid(vec_set(x)));
    return out[15];
}
static float one_tanh(float x) {
    float out[16];
    vec_store(out, vec_tanh(vec_set(x)));
    return out[0];
}
static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

// Largest error over [low, high] in units in the last place of the true value.
static double worst(float (*got)(float), double (*want)(double), float low, float high) {
    double most = 0;
    for (int i = 0; i <= 400000; i++) {
        float x = low + (high - low) * ((float)i / 400000);
        double truth = want(x);
        int exponent;
        frexp(truth, &exponent);
        double unit = ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
        double error = fabs(got(x) - truth) / unit;
        most = error > most || isnan(error) ? error : most;
    }
    return most;
}

static void test_accuracy(void **state) {
    (void)state;
    // The bounds that simd.h states.
    assert_true(worst(one_exp, exp, -87.3f, 88) <= 1.1);
    assert_true(worst(one_exp, exp, -1, 1) <= 1.1);
    assert_true(worst(one_sigmoid, sigmoid, -87, 30) <= 2.5);
    assert_true(worst(one_sigmoid, sigmoid, -4, 4) <= 2.5);
    assert_true(worst(one_tanh, tanh, -12, 12) <= 2);
    assert_true(worst(one_tanh, tanh, -0.7f, 0.7f) <= 2);
    assert_true(worst(one_tanh, tanh, -1e-3f, 1e-3f) <= 2);
}

static void test_special_values(void **state) {
    (void)state;
    assert_true(one_exp(0) == 1);
    assert_true(one_exp(-INFINITY) == 0 && one_exp(-88) == 0 && one_exp(-3e38f) == 0);
    assert_true(isnan(one_exp(NAN)) && isnan(one_sigmoid(NAN)) && isnan(one_tanh(NAN)));
    assert_true(one_sigmoid(INFINITY) == 1 && one_sigmoid(-INFINITY) == 0);
    assert_true(one_sigmoid(0) == 0.5f);
    assert_true(one_tanh(INFINITY) == 1 && one_tanh(-INFINITY) == -1 && one_tanh(50) == 1);
    assert_true(one_tanh(0) == 0 && !signbit(one_tanh(0)) && signbit(one_tanh(-0.0f)));
}

static void test_lanes(void **state) {
    (void)state;
    float x[16], out[18];
    for (int i = 0; i < 16; i++)
        x[i] = (float)(i + 1);
    assert_true(vec_sum(vec_load(x)) == 136 && vec_greatest(vec_load(x)) == 16);
    for (int n = 0; n <= 16; n++) {
        for (int i = 0; i < 18; i++)
            out[i] = -7;
        vec_store_part(out, vec_load_part(x, n), n);
        for (int i = 0; i < 18; i++)
            assert_true(out[i] == (i < n ? x[i] : -7));
        vec_store(out, vec_load_part(x, n));
        for (int i = 0; i < 16; i++)
            assert_true(out[i] == (i < n ? x[i] : 0));
        for (int begin = 0; begin <= n; begin++) {
            vec_store(out, vec_keep(vec_load(x), begin, n, vec_set(-7)));
            for (int i = 0; i < 16; i++)
                assert_true(out[i] == (i >= begin && i < n ? x[i] : -7));
        }
    }
}

static void test_transpose(void **state) {
    (void)state;
    vec r[16];
    float x[16];
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 16; j++)
            x[j] = (float)(100 * i + j);
        r[i] = vec_load(x);
    }
    vec_transpose(r);
    for (int i = 0; i < 16; i++) {
        vec_store(x, r[i]);
        for (int j = 0; j < 16; j++)
            assert_true(x[j] == (float)(100 * j + i));
    }
}

// Every half there and back; every int8.
static void test_conversions(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 65536; h += 16) {
        uint16_t in[16], back[16];
        float x[16];
        for (int i = 0; i < 16; i++)
            in[i] = (uint16_t)(h + (uint32_t)i);
        vec_store(x, vec_half_load(in));
        vec_half_store(back, vec_load(x));
        for (int i = 0; i < 16; i++) {
            if (isnan(x[i]))
                continue;
            assert_int_equal(glint_float_bits(x[i]), glint_float_bits(glint_half_to_float(in[i])));
            assert_int_equal(back[i], in[i]);
        }
    }
    for (int b = -128; b < 128; b += 16) {
        int8_t in[16];
        float x[16];
        for (int i = 0; i < 16; i++)
            in[i] = (int8_t)(b + i);
        vec_store(x, vec_int8_load(in));
        for (int i = 0; i < 16; i++)
            assert_true(x[i] == (float)(b + i));
    }
}

int run_simd_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),    cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_lanes),       cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_conversions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
