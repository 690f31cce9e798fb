// SPDX-License-Identifier: Apache-2.0
// test_cursor.c — values, the end, and lengths that would wrap.
#include "format/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_reads_little_endian(void **state) {
    (void)state;
    const uint8_t bytes[] = {1, 2, 1, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1};
    struct glint_cursor cursor = glint_cursor_of(bytes, sizeof bytes);
    assert_int_equal(glint_cursor_u8(&cursor), 1);
    assert_int_equal(glint_cursor_u16(&cursor), 0x0102);
    assert_int_equal(glint_cursor_u32(&cursor), 0x01020304);
    assert_true(glint_cursor_u64(&cursor) == UINT64_C(0x0102030405060708));
    assert_false(cursor.failed);
    assert_int_equal(glint_cursor_left(&cursor), 0);
}

static void test_failure_sticks(void **state) {
    (void)state;
    const uint8_t bytes[] = {9, 9, 9};
    struct glint_cursor cursor = glint_cursor_of(bytes, sizeof bytes);
    assert_int_equal(glint_cursor_u32(&cursor), 0);
    assert_true(cursor.failed);
    assert_int_equal(glint_cursor_u8(&cursor), 0);
    assert_int_equal(glint_cursor_left(&cursor), 0);
}

static void test_lengths_do_not_wrap(void **state) {
    (void)state;
    const uint8_t bytes[] = {1, 2, 3, 4};
    for (int shift = 2; shift < 64; shift++) {
        struct glint_cursor cursor = glint_cursor_of(bytes, sizeof bytes);
        glint_cursor_u8(&cursor);
        assert_null(glint_cursor_take(&cursor, UINT64_MAX >> (63 - shift)));
        assert_true(cursor.failed);
    }
    struct glint_cursor cursor = glint_cursor_of(bytes, sizeof bytes);
    assert_ptr_equal(glint_cursor_take(&cursor, 4), bytes);
    assert_non_null(glint_cursor_take(&cursor, 0));
}

static void test_floats(void **state) {
    (void)state;
    const uint8_t one[] = {0, 0, 0x80, 0x3f}, two[] = {0, 0, 0, 0, 0, 0, 0, 0x40};
    assert_true(glint_load_f32(one) == 1.0f);
    assert_true(glint_load_f64(two) == 2.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_little_endian),
        cmocka_unit_test(test_failure_sticks),
        cmocka_unit_test(test_lengths_do_not_wrap),
        cmocka_unit_test(test_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
