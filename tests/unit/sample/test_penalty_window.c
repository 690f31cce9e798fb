// SPDX-License-Identifier: Apache-2.0
// test_penalty_window.c — counts against a recount of the last tokens, forwards and back.
#include "sample/penalty_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N_TOKENS = 4000, REWIND = 16 };

static uint32_t count_of(const struct glint_penalty_window *window, int32_t id) {
    uint32_t n = 0;
    for (uint32_t i = 0; i <= window->slot_mask; i++)
        if (window->slots[i].n > 0 && window->slots[i].id == id)
            n += window->slots[i].n;
    return n;
}

static void check_counts(const struct glint_penalty_window *window, const int32_t *ids, size_t n,
                         int32_t n_kinds) {
    size_t begin = n > window->n_last ? n - window->n_last : 0;
    for (int32_t id = 0; id < n_kinds; id++) {
        uint32_t wanted = 0;
        for (size_t i = begin; i < n; i++)
            wanted += ids[i] == id * 1000;
        assert_int_equal(count_of(window, id * 1000), wanted);
    }
}

static void test_against_recount(void **state) {
    (void)state;
    static const uint32_t sizes[] = {1, 2, 7, 64, 500};
    static int32_t ids[N_TOKENS];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct glint_penalty_window window;
        assert_int_equal(glint_penalty_window_init(&window, sizes[s], REWIND, NULL), GLINT_OK);
        srand(7);
        size_t n = 0;
        for (int step = 0; step < N_TOKENS; step++) {
            int n_back = rand() % 20 == 0 ? rand() % REWIND : 0;
            for (; n_back > 0 && n > 0 && (size_t)n_back < n; n_back--, n--)
                glint_penalty_window_pop(&window);
            // After going back, as many tokens as went must come before the next time.
            for (int i = 0; i < REWIND && n < N_TOKENS; i++) {
                ids[n] = rand() % 12 * 1000;
                glint_penalty_window_push(&window, ids[n++]);
            }
            if (step % 16 == 0)
                check_counts(&window, ids, n, 12);
            if (n == N_TOKENS)
                break;
        }
        check_counts(&window, ids, n, 12);
        glint_penalty_window_reset(&window);
        check_counts(&window, ids, 0, 12);
        glint_penalty_window_fini(&window);
    }
}

static void test_off(void **state) {
    (void)state;
    struct glint_penalty_window window;
    assert_int_equal(glint_penalty_window_init(&window, 0, REWIND, NULL), GLINT_OK);
    glint_penalty_window_push(&window, 3);
    glint_penalty_window_pop(&window);
    glint_penalty_window_reset(&window);
    glint_penalty_window_fini(&window);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_recount),
        cmocka_unit_test(test_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
