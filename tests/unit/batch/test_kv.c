// SPDX-License-Identifier: Apache-2.0
// test_kv.c — pages and rings: what is reserved, what survives, what is refused.
#include "batch/batch.h"
#include "batch/kv.h"
#include "cpu/cpu.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

enum { WINDOW = 300, N_SEQUENCE = 3, MAX_ROWS = 128, SLACK = 200 };

static struct glint_config small_config(void) {
    struct glint_config config = {.n_layer = 4,
                                  .n_head_kv = 2,
                                  .head_dim = 32,
                                  .window = WINDOW,
                                  .n_sliding = 3,
                                  .n_full = 1};
    return config;
}

static struct glint_kv_params small_params(void) {
    return (struct glint_kv_params){.n_sequence = N_SEQUENCE,
                                    .n_context = 4096,
                                    .n_cell = 4096,
                                    .max_rows = MAX_ROWS,
                                    .slack = SLACK,
                                    .full_k = GLINT_DTYPE_F16,
                                    .full_v = GLINT_DTYPE_F16,
                                    .sliding_k = GLINT_DTYPE_F16,
                                    .sliding_v = GLINT_DTYPE_F16};
}

static struct glint_backend *open_backend(void) {
    struct glint_backend *backend;
    struct glint_cpu_params cpu = {
        .n_threads = 1,
        .tier = "scalar",
        .limits = {
            .max_rows = 1, .max_col = 32, .max_head = 2, .max_context = 4096, .head_dim = 32}};
    assert_int_equal(glint_cpu_open(&backend, &cpu, NULL), GLINT_OK);
    return backend;
}

static void grow(struct glint_kv *kv, int s, int n) {
    while (n > 0) {
        int step = n < MAX_ROWS ? n : MAX_ROWS;
        assert_int_equal(glint_kv_reserve(kv, s, step, NULL), GLINT_OK);
        glint_kv_commit(kv, s, step);
        n -= step;
    }
}

// No two live rows of any sequences share an address.
static void test_rows_are_apart(void **state) {
    (void)state;
    struct glint_config config = small_config();
    struct glint_kv_params params = small_params();
    struct glint_backend *backend = open_backend();
    struct glint_kv *kv;
    assert_int_equal(glint_kv_open(&kv, &config, backend, &params, NULL), GLINT_OK);
    for (int s = 0; s < N_SEQUENCE; s++)
        grow(kv, s, 700 + 100 * s);
    for (int sliding = 0; sliding < 2; sliding++) {
        const struct glint_kv_plane *plane = glint_kv_plane(kv, sliding);
        char *mark = glint_kv_row(plane, glint_kv_table(kv, 0, sliding), 0, 0, 0, 699);
        memset(mark, 7, glint_kv_row_bytes(plane, 0));
        for (int s = 0; s < N_SEQUENCE; s++)
            for (int p = glint_kv_ring_begin(kv, s); p < glint_kv_length(kv, s); p++)
                for (int head = 0; head < 2; head++) {
                    char *row = glint_kv_row(plane, glint_kv_table(kv, s, sliding), 0, 0, head, p);
                    assert_true(row == mark ? s == 0 && p == 699 && head == 0 : *row == 0);
                }
        memset(mark, 0, glint_kv_row_bytes(plane, 0));
    }
    glint_kv_close(&kv);
    backend->close(backend);
}

// Whatever the length: the slack can be rolled back, and the window before it is still there.
static void test_slack_is_kept(void **state) {
    (void)state;
    struct glint_config config = small_config();
    struct glint_kv_params params = small_params();
    struct glint_backend *backend = open_backend();
    struct glint_kv *kv;
    assert_int_equal(glint_kv_open(&kv, &config, backend, &params, NULL), GLINT_OK);
    for (int length = 1; length < 4000; length += 37) {
        glint_kv_truncate(kv, 0, 0);
        grow(kv, 0, length);
        int back = length < SLACK ? length : SLACK;
        assert_true(glint_kv_can_truncate(kv, 0, length - back));
        glint_kv_truncate(kv, 0, length - back);
        assert_int_equal(glint_kv_length(kv, 0), length - back);
        int oldest = length - back - (WINDOW - 1);
        assert_true(glint_kv_ring_begin(kv, 0) <= (oldest > 0 ? oldest : 0));
    }
    glint_kv_truncate(kv, 0, 0);
    grow(kv, 0, 3000);
    assert_false(glint_kv_can_truncate(kv, 0, 1000));
    assert_false(glint_kv_can_truncate(kv, 0, 3001));
    assert_false(glint_kv_can_truncate(kv, 0, -1));
    assert_true(glint_kv_can_truncate(kv, 0, 0));
    // Rows that were dropped do not come back: the ring's begin stays where it was.
    int begin = glint_kv_ring_begin(kv, 0);
    glint_kv_truncate(kv, 0, 2900);
    assert_int_equal(glint_kv_ring_begin(kv, 0), begin);
    glint_kv_close(&kv);
    backend->close(backend);
}

static void test_pool_is_shared_and_limited(void **state) {
    (void)state;
    struct glint_config config = small_config();
    struct glint_kv_params params = small_params();
    struct glint_error error = {0};
    struct glint_backend *backend = open_backend();
    struct glint_kv *kv;
    params.n_context = params.n_cell = 1024; // 4 pages, and one more for each other sequence
    assert_int_equal(glint_kv_open(&kv, &config, backend, &params, NULL), GLINT_OK);
    grow(kv, 0, 1024);
    assert_int_equal(glint_kv_reserve(kv, 0, 1, &error), GLINT_E_LIMIT);
    grow(kv, 1, 256);
    grow(kv, 2, 256);
    assert_int_equal(glint_kv_reserve(kv, 1, 1, &error), GLINT_E_NOMEM);
    assert_non_null(strstr(error.text, "pool"));
    assert_int_equal(glint_kv_length(kv, 1), 256);
    glint_kv_truncate(kv, 0, 700); // three pages stay, one goes back
    assert_int_equal(glint_kv_reserve(kv, 1, 1, &error), GLINT_OK);
    glint_kv_close(&kv);
    backend->close(backend);
}

// A batch that cannot be placed leaves every sequence as it was.
static void test_batch_is_placed_whole_or_not(void **state) {
    (void)state;
    struct glint_config config = small_config();
    struct glint_kv_params params = small_params();
    struct glint_backend *backend = open_backend();
    struct glint_batch batch;
    struct glint_kv *kv;
    params.n_context = params.n_cell = 512;
    params.n_sequence = 2; // 3 pages in all
    assert_int_equal(glint_kv_open(&kv, &config, backend, &params, NULL), GLINT_OK);
    assert_int_equal(glint_batch_init(&batch, 8, NULL), GLINT_OK);
    grow(kv, 0, 256);
    grow(kv, 1, 256);
    glint_batch_clear(&batch);
    glint_batch_add(&batch, 0, 256, 1, true);
    glint_batch_add(&batch, 1, 256, 1, true);
    assert_int_equal(glint_batch_place(&batch, kv, NULL), GLINT_E_NOMEM);
    assert_int_equal(glint_kv_length(kv, 0), 256);
    glint_batch_clear(&batch);
    glint_batch_add(&batch, 1, 256, 1, true); // the page that sequence 0 gave back
    assert_int_equal(glint_batch_place(&batch, kv, NULL), GLINT_OK);
    glint_batch_commit(&batch, kv);
    assert_int_equal(glint_kv_length(kv, 1), 257);
    glint_batch_fini(&batch);
    glint_kv_close(&kv);
    backend->close(backend);
}

// A value that tells row `position` of a sequence apart, in both classes.
static void mark_row(struct glint_kv *kv, int s, int position, char value) {
    for (int sliding = 0; sliding < 2; sliding++) {
        const struct glint_kv_plane *plane = glint_kv_plane(kv, sliding);
        *glint_kv_row(plane, glint_kv_table(kv, s, sliding), 0, 0, 0, position) = value;
    }
}

static void expect_row(const struct glint_kv *kv, int s, int position, char value) {
    for (int sliding = 0; sliding < 2; sliding++) {
        const struct glint_kv_plane *plane = glint_kv_plane(kv, sliding);
        assert_int_equal(*glint_kv_row(plane, glint_kv_table(kv, s, sliding), 0, 0, 0, position),
                         value);
    }
}

// Rows that a hold or another sequence relies on are never written again: two go on after the same
// rows, one goes back among them, and each sees its own. Nothing is copied that need not be.
static void test_holds_keep_rows(void **state) {
    (void)state;
    struct glint_config config = small_config();
    struct glint_kv_params params = small_params();
    struct glint_backend *backend = open_backend();
    struct glint_kv_hold hold;
    struct glint_kv *kv;
    params.n_spare = 1;
    assert_int_equal(glint_kv_open(&kv, &config, backend, &params, NULL), GLINT_OK);
    grow(kv, 0, 1000);
    mark_row(kv, 0, 890, 1);
    mark_row(kv, 0, 950, 1);
    assert_int_equal(glint_kv_hold_open(kv, &hold, 0, 900, NULL), GLINT_OK);
    int32_t page = glint_kv_full_page(kv, 0, 3);
    assert_int_equal(glint_kv_page_refs(kv, false, page), 2);
    glint_kv_adopt(kv, 1, &hold, 900);
    grow(kv, 1, 60); // beside the rows that the first one put there
    mark_row(kv, 1, 950, 2);
    grow(kv, 0, 5);
    expect_row(kv, 0, 950, 1);
    expect_row(kv, 1, 890, 1);
    assert_int_equal(glint_kv_full_page(kv, 0, 3), page); // it was there first
    assert_int_not_equal(glint_kv_full_page(kv, 1, 3), page);
    assert_int_equal(glint_kv_full_page(kv, 1, 2), glint_kv_full_page(kv, 0, 2));
    glint_kv_truncate(kv, 0, 880); // below what the hold relies on
    grow(kv, 0, 20);
    mark_row(kv, 0, 890, 3);
    expect_row(kv, 1, 890, 1);
    assert_int_not_equal(glint_kv_full_page(kv, 0, 3), page);
    // Who goes on where the hold ends, and alone, goes on in its page.
    glint_kv_truncate(kv, 0, 0);
    glint_kv_adopt(kv, 0, &hold, 900);
    grow(kv, 0, 1);
    assert_int_equal(glint_kv_full_page(kv, 0, 3), page);
    expect_row(kv, 0, 890, 1);
    assert_true(glint_kv_hold_reaches(kv, &hold, 880));
    assert_false(glint_kv_hold_reaches(kv, &hold, 901));
    uint64_t held = glint_kv_held_bytes(kv);
    glint_kv_truncate(kv, 0, 0);
    glint_kv_truncate(kv, 1, 0);
    assert_true(glint_kv_held_bytes(kv) > held);
    glint_kv_hold_close(kv, &hold);
    assert_int_equal(glint_kv_held_bytes(kv), 0);
    glint_kv_close(&kv);
    backend->close(backend);
}

static void test_cache_types_are_checked(void **state) {
    (void)state;
    struct glint_config config = small_config();
    struct glint_kv_params params = small_params();
    struct glint_error error = {0};
    struct glint_backend *backend = open_backend();
    struct glint_kv *kv;
    params.sliding_k = GLINT_DTYPE_Q8_0;
    assert_int_equal(glint_kv_open(&kv, &config, backend, &params, &error), GLINT_E_UNSUPPORTED);
    params = small_params();
    params.full_k = GLINT_DTYPE_Q8_0;
    config.head_dim = 48;
    assert_int_equal(glint_kv_open(&kv, &config, backend, &params, &error), GLINT_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "48"));
    assert_null(kv);
    backend->close(backend);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_apart),
        cmocka_unit_test(test_slack_is_kept),
        cmocka_unit_test(test_pool_is_shared_and_limited),
        cmocka_unit_test(test_batch_is_placed_whole_or_not),
        cmocka_unit_test(test_holds_keep_rows),
        cmocka_unit_test(test_cache_types_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
