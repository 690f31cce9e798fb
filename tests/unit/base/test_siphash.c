// SPDX-License-Identifier: Apache-2.0
// test_siphash.c — values of the paper and of its authors' table, and pieces against the whole.
#include "base/siphash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

enum { N = 64 };

static uint8_t text[N];

// Of the first n bytes, cut after `at`.
static uint64_t hash_of(size_t n, size_t at) {
    struct glint_siphash hash;
    glint_siphash_init(&hash, 0x0706050403020100u, 0x0f0e0d0c0b0a0908u);
    glint_siphash_add(&hash, text, at);
    glint_siphash_add(&hash, text + at, n - at);
    return glint_siphash_end(&hash);
}

static void test_values(void **state) {
    (void)state;
    assert_true(hash_of(0, 0) == 0x726fdb47dd0e0e31u);
    assert_true(hash_of(1, 0) == 0x74f839c593dc67fdu);
    assert_true(hash_of(8, 0) == 0x93f5f5799a932462u);
    assert_true(hash_of(15, 0) == 0xa129ca6149be45e5u);
}

static void test_pieces(void **state) {
    (void)state;
    for (size_t n = 0; n <= N; n++) {
        for (size_t at = 0; at <= n; at++)
            assert_true(hash_of(n, at) == hash_of(n, 0));
        for (size_t m = 0; m < n; m++)
            assert_true(hash_of(m, 0) != hash_of(n, 0));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_pieces),
    };
    for (int i = 0; i < N; i++)
        text[i] = (uint8_t)i;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
