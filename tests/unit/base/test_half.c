// SPDX-License-Identifier: Apache-2.0
// test_half.c — every half and bfloat16 value against double arithmetic, and rounding at every
// border between two neighbours.
#include "base/half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

// The value of a finite pattern with the given mantissa width and exponent bias.
static double value_of(uint32_t bits, int n_mantissa, int bias) {
    uint32_t mantissa = bits & ((1u << n_mantissa) - 1);
    int exponent = (int)((bits & 0x7fffu) >> n_mantissa);
    double size = exponent == 0 ? ldexp((double)mantissa, 1 - bias - n_mantissa)
                                : ldexp((double)(mantissa + (1u << n_mantissa)),
                                        exponent - bias - n_mantissa);
    return bits & 0x8000u ? -size : size;
}

static bool same(float a, float b) {
    return glint_float_bits(a) == glint_float_bits(b);
}

static void test_half_decode(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float found = glint_half_to_float((uint16_t)bits);
        if ((bits & 0x7c00u) == 0x7c00u) {
            assert_true((bits & 0x3ffu) ? isnan(found) : isinf(found));
            assert_int_equal(signbit(found) != 0, bits >> 15);
            continue;
        }
        if (!same(found, (float)value_of(bits, 10, 15)))
            fail_msg("half %04x", bits);
    }
}

static void test_half_round_trip(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t back = glint_half_from_float(glint_half_to_float((uint16_t)bits));
        bool nan = (bits & 0x7fffu) > 0x7c00u;
        if (back != (nan ? (bits | 0x200u) : bits)) // NaNs come back quiet
            fail_msg("half %04x came back as %04x", bits, back);
    }
}

static void test_bf16(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float found = glint_bf16_to_float((uint16_t)bits);
        bool nan = (bits & 0x7fffu) > 0x7f80u;
        if ((bits & 0x7f80u) != 0x7f80u && !same(found, (float)value_of(bits, 7, 127)))
            fail_msg("bf16 %04x", bits);
        if (nan != isnan(found))
            fail_msg("bf16 %04x", bits);
        if (glint_bf16_from_float(found) != (nan ? (bits | 0x40u) : bits))
            fail_msg("bf16 %04x", bits);
    }
}

// Between every two neighbours: the middle goes to the even one, one float step off the middle
// goes to the nearer one.
static void check_borders(uint16_t (*encode)(float), float (*decode)(uint16_t), uint32_t last) {
    for (uint32_t low = 0; low < last; low++) {
        double a = (double)decode((uint16_t)low);
        double b = (double)decode((uint16_t)(low + 1));
        float middle = (float)((a + b) / 2);
        assert_true((double)middle == (a + b) / 2);
        uint32_t even = low & 1 ? low + 1 : low;
        for (uint32_t sign = 0; sign < 2; sign++) {
            float s = sign ? -1.0f : 1.0f;
            uint32_t flag = sign << 15;
            if (encode(s * middle) != (even | flag) ||
                encode(s * nextafterf(middle, 0)) != (low | flag) ||
                encode(s * nextafterf(middle, INFINITY)) != ((low + 1) | flag))
                fail_msg("between %04x and %04x", low, low + 1);
        }
    }
}

static void test_half_borders(void **state) {
    (void)state;
    check_borders(glint_half_from_float, glint_half_to_float, 0x7bff);
    // The border to infinity lies where the next exponent would begin.
    assert_int_equal(glint_half_from_float(65519.996f), 0x7bff);
    assert_int_equal(glint_half_from_float(65520.0f), 0x7c00);
    assert_int_equal(glint_half_from_float(-1e30f), 0xfc00);
    assert_int_equal(glint_half_from_float(-INFINITY), 0xfc00);
    assert_int_equal(glint_half_from_float(0x1p-149f), 0);
    assert_int_equal(glint_half_from_float(-0.0f), 0x8000);
    assert_true(isnan(glint_half_to_float(glint_half_from_float(NAN))));
    // A NaN whose high mantissa bits are zero must not become infinity.
    assert_true(
        isnan(glint_half_to_float(glint_half_from_float(glint_float_from_bits(0x7f800001)))));
}

static void test_bf16_borders(void **state) {
    (void)state;
    check_borders(glint_bf16_from_float, glint_bf16_to_float, 0x7f7f);
    assert_int_equal(glint_bf16_from_float(3.4028235e38f), 0x7f80);
    assert_int_equal(glint_bf16_from_float(-INFINITY), 0xff80);
    assert_true(
        isnan(glint_bf16_to_float(glint_bf16_from_float(glint_float_from_bits(0x7f800001)))));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_decode),  cmocka_unit_test(test_half_round_trip),
        cmocka_unit_test(test_half_borders), cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_bf16_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
