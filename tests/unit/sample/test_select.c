// SPDX-License-Identifier: Apache-2.0
// test_select.c — keys order candidates; selection and sorting against the C library's sort.
#include "sample/select.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_keys(void **state) {
    (void)state;
    static const float descending[] = {3e38f, 20, 1e-30f, 0, -1e-40f, -5, -3e38f, -INFINITY};
    size_t n = sizeof descending / sizeof *descending;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = glint_key_of(descending[i], 77);
        assert_int_equal(glint_key_id(key), 77);
        assert_true(glint_key_logit(key) == descending[i]);
        assert_true(key < glint_key_of(descending[i], 78));
        assert_true(i + 1 == n || key < glint_key_of(descending[i + 1], 0));
        assert_true(key <= glint_key_worst());
    }
    assert_true(glint_key_of(-0.0f, 5) == glint_key_of(0.0f, 5));
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// Distinct keys in one of several orders.
static void fill(uint64_t *keys, size_t n, int order) {
    for (size_t i = 0; i < n; i++) {
        uint64_t high = order == 0   ? i
                        : order == 1 ? n - i
                        : order == 2 ? i % 7
                        : order == 3 ? 1
                                     : i * 0x9e3779b97f4a7c15u >> 40;
        keys[i] = high << 32 | i;
    }
}

static void test_against_sort(void **state) {
    (void)state;
    enum { MAX = 5000 };
    static uint64_t keys[MAX], sorted[MAX];
    static const size_t sizes[] = {1, 2, 3, 15, 16, 17, 18, 33, 100, 1000, MAX};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int order = 0; order < 5; order++) {
            size_t n = sizes[s];
            fill(sorted, n, order);
            qsort(sorted, n, sizeof *sorted, compare);
            fill(keys, n, order);
            glint_select_sort(keys, n);
            assert_memory_equal(keys, sorted, n * sizeof *keys);
            for (size_t k = 0; k <= n; k += 1 + n / 13) {
                fill(keys, n, order);
                glint_select_front(keys, n, k);
                qsort(keys, k, sizeof *keys, compare);
                qsort(keys + k, n - k, sizeof *keys, compare);
                assert_memory_equal(keys, sorted, n * sizeof *keys);
            }
        }
    glint_select_sort(keys, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_against_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
