// SPDX-License-Identifier: Apache-2.0
// The table of weight types: look-ups, sizes, names.
#include "quant/dtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_every_row_is_found(void **state) {
    (void)state;
    size_t n = 0;
    for (const struct glint_dtype_info *info; (info = glint_dtype_at(n)) != NULL; n++) {
        assert_ptr_equal(glint_dtype_info((uint32_t)info->dtype), info);
        assert_ptr_equal(glint_dtype_by_name(info->name), info);
        const char *public_name = glint_dtype_public_name((uint32_t)info->dtype);
        assert_ptr_equal(glint_dtype_by_name(public_name), info);
        assert_int_equal(glint_dtype_bytes(info->dtype, 512),
                         512 / info->block_len * info->block_bytes);
    }
    assert_int_equal(n, 13);
}

static void test_published_sizes(void **state) {
    (void)state;
    assert_int_equal(glint_dtype_bytes(GLINT_DTYPE_F32, 256), 1024);
    assert_int_equal(glint_dtype_bytes(GLINT_DTYPE_BF16, 256), 512);
    assert_int_equal(glint_dtype_bytes(GLINT_DTYPE_Q8_0, 256), 272);
    assert_int_equal(glint_dtype_bytes(GLINT_DTYPE_Q2_K, 256), 84);
    assert_int_equal(glint_dtype_bytes(GLINT_DTYPE_Q6_K, 6656), 26 * 210);
    // One matrix of 2^33 values: the product must not wrap.
    assert_true(glint_dtype_bytes(GLINT_DTYPE_F32, UINT64_C(1) << 33) == (size_t)1 << 35);
}

static void test_strangers_are_refused(void **state) {
    (void)state;
    assert_null(glint_dtype_info(4));
    assert_null(glint_dtype_info(16));
    assert_null(glint_dtype_info(31));
    assert_null(glint_dtype_info(UINT32_MAX));
    assert_null(glint_dtype_by_name(""));
    assert_null(glint_dtype_by_name("q4"));
    assert_null(glint_dtype_by_name("q4_k_m"));
    assert_string_equal(glint_dtype_public_name(17), "IQ2_XS");
    assert_string_equal(glint_dtype_public_name(4), "unknown");
    assert_string_equal(glint_dtype_public_name(UINT32_MAX), "unknown");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_found),
        cmocka_unit_test(test_published_sizes),
        cmocka_unit_test(test_strangers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
