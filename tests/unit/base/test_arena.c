// SPDX-License-Identifier: Apache-2.0
// test_arena.c — alignment, the end of the block, reset.
#include "base/arena.h"

#include "fault.h"

static void test_take(void **state) {
    (void)state;
    struct glint_arena arena;
    assert_int_equal(glint_arena_init(&arena, 1000, NULL), GLINT_OK);
    char *a = glint_arena_take(&arena, 1, 1);
    char *b = glint_arena_take(&arena, 10, 10);
    assert_int_equal((uintptr_t)a % 64, 0);
    assert_int_equal((uintptr_t)b % 64, 0);
    assert_ptr_equal(b, a + 64);
    assert_int_equal(b[99], 0);
    size_t mark = glint_arena_mark(&arena);
    assert_int_equal(mark, 192);
    assert_null(glint_arena_take(&arena, 809, 1));
    assert_int_equal(glint_arena_mark(&arena), mark);
    char *rest = glint_arena_take(&arena, 101, 8); // all but a part of the padding
    assert_non_null(rest);
    rest[807] = 1;
    assert_null(glint_arena_take(&arena, 1, 1));
    assert_int_equal(arena.peak, 1000);
    glint_arena_reset(&arena, mark);
    assert_ptr_equal(glint_arena_take(&arena, 1, 1), rest);
    assert_int_equal(arena.peak, 1000);
    glint_arena_fini(&arena);
    assert_null(arena.base);
    assert_null(glint_arena_take(&arena, 0, 1));
}

static void test_overflow(void **state) {
    (void)state;
    struct glint_arena arena;
    assert_int_equal(glint_arena_init(&arena, 128, NULL), GLINT_OK);
    assert_null(glint_arena_take(&arena, SIZE_MAX, 2));
    assert_null(glint_arena_take(&arena, SIZE_MAX / 2, 2));
    assert_non_null(glint_arena_take(&arena, SIZE_MAX, 0));
    glint_arena_fini(&arena);
    struct glint_error err = {.status = GLINT_OK};
    assert_int_equal(glint_arena_init(&arena, SIZE_MAX, &err), GLINT_E_NOMEM);
    assert_true(err.text[0] != 0);
    glint_arena_fini(&arena);
}

static enum glint_status life(void *context, struct glint_error *err) {
    (void)context;
    struct glint_arena arena;
    GLINT_TRY(glint_arena_init(&arena, 64, err));
    glint_arena_fini(&arena);
    return GLINT_OK;
}

static void test_fault(void **state) {
    (void)state;
    assert_int_equal(glint_fault_each(life, NULL), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
