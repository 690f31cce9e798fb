// SPDX-License-Identifier: Apache-2.0
// test_draft_context.c — what the drafter knows of a sequence can be kept and put into another: the
// same bytes whatever the sequence held beyond the cut, and the same hidden rows of the drafter and
// proposals afterwards, round after round.
#include "drafter_edit.h"
#include "engine/engine.h"
#include "sanitized.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { N_ID = 640, WINDOW = 256, WIDTH = 256, BLOCK = 16, N_ROUND = 6 };

static struct glint_engine *engine;
static int32_t ids[N_ID + 64];

static void must(enum glint_status status, const struct glint_error *error) {
    if (status != GLINT_OK)
        fail_msg("%s", error->text);
}

static struct glint_session *hold(int n) {
    struct glint_session *session;
    struct glint_error error = {0};
    must(glint_session_open(&session, engine, &error), &error);
    must(glint_session_sync(session, ids, n, NULL, &error), &error);
    return session;
}

static void *save(const struct glint_session *session, int length) {
    struct glint_error error = {0};
    void *bytes = malloc(glint_draft_context_bytes(engine->draft, length));
    assert_non_null(bytes);
    must(glint_draft_save(engine->draft, session->slot, length, session->length, bytes, &error),
         &error);
    return bytes;
}

struct guess {
    int32_t id[BLOCK - 1];
    float hidden[BLOCK][WIDTH];
};

static void keep_row(void *user, int i, const float *row) {
    struct guess *guess = user;
    memcpy(guess->hidden[i], row, sizeof guess->hidden[i]);
}

static void propose(struct glint_session *session, struct guess *guess) {
    struct glint_error error = {0};
    struct glint_proposals proposals = {.anchor = ids[session->length],
                                        .n = BLOCK - 1,
                                        .ids = guess->id,
                                        .on_hidden = keep_row,
                                        .user = guess};
    must(glint_session_propose(session, &proposals, &error), &error);
}

// a and b hold the same tokens. Both go on through rounds of seven, some of them right.
static void go_on(struct glint_session *a, struct glint_session *b) {
    static struct guess of_a, of_b;
    struct glint_session *both[] = {a, b};
    struct glint_error error = {0};
    for (int round = 0; round < N_ROUND; round++) {
        propose(a, &of_a);
        propose(b, &of_b);
        assert_memory_equal(&of_a, &of_b, sizeof of_a);
        for (int k = 0; k < 1 + round % 3; k++) {
            int32_t pair[] = {ids[a->length], ids[a->length]};
            must(glint_engine_decode(engine, both, pair, 2, &error), &error);
        }
    }
}

// `held` tokens, kept at `length` of them.
static void check_cut(int held, int length) {
    struct glint_error error = {0};
    static struct guess without, with;
    struct glint_session *a = hold(held);
    void *bytes = save(a, length);
    glint_session_close(&a);
    a = hold(length);
    struct glint_session *b = hold(length);
    size_t n_bytes = glint_draft_context_bytes(engine->draft, length);
    void *again = save(a, length), *nothing = calloc(1, n_bytes);
    assert_memory_equal(bytes, again, n_bytes);
    must(glint_draft_restore(engine->draft, b->slot, length, length, nothing, &error), &error);
    propose(b, &without);
    must(glint_draft_restore(engine->draft, b->slot, length, length, bytes, &error), &error);
    propose(b, &with);
    assert_memory_not_equal(&without, &with, sizeof with);
    must(glint_session_set_draft(a, 7, &error), &error);
    must(glint_session_set_draft(b, 7, &error), &error);
    go_on(a, b);
    free(bytes);
    free(again);
    free(nothing);
    glint_session_close(&a);
    glint_session_close(&b);
}

// What was saved at `saved` tokens is put back for the first `length` of them. As long as all rows
// that are seen from there were saved, nobody can tell; rows that were not are zero, whatever the
// pages held before.
static void check_shorter(int saved, int length, bool all_saved) {
    struct glint_error error = {0};
    static struct guess expected, one, two;
    struct glint_session *b = hold(saved);
    void *bytes = save(b, saved);
    glint_session_close(&b);
    struct glint_session *a = hold(length);
    propose(a, &expected);
    b = hold(length);
    must(glint_draft_restore(engine->draft, b->slot, saved, length, bytes, &error), &error);
    propose(b, &one);
    assert_true(!all_saved || memcmp(&expected, &one, sizeof one) == 0);
    must(glint_draft_restore(engine->draft, a->slot, saved, length, bytes, &error), &error);
    propose(a, &two);
    assert_memory_equal(&one, &two, sizeof one);
    free(bytes);
    glint_session_close(&a);
    glint_session_close(&b);
}

static void test_shorter(void **state) {
    (void)state;
    check_shorter(70, 61, true);
    check_shorter(WINDOW + 44, WINDOW - 10, false);
}

static void test_cuts(void **state) {
    (void)state;
    check_cut(70, 70); // less than a window, the buffer not empty
    check_cut(3, 1);
    check_cut(WINDOW + 44, WINDOW);
    if (GLINT_SANITIZED)
        return;
    check_cut(N_ID, N_ID);
    check_cut(N_ID, N_ID - 300);
}

// Whatever the target can be cut to can be kept.
static void test_reach(void **state) {
    (void)state;
    struct glint_error error = {0};
    struct glint_session *session = hold(N_ID);
    struct glint_eval eval = {.ids = ids, .n = N_ID};
    int n_kept = 0;
    for (int i = 0; i < 2; i++) // the ring goes round
        must(glint_session_eval(session, &eval, &error), &error);
    for (int length = 0; length <= session->length; length += 13)
        if (glint_kv_can_truncate(engine->kv, session->slot, length)) {
            free(save(session, length));
            n_kept++;
        }
    assert_true(n_kept > 512 / 13 && n_kept < 2 * N_ID / 13);
    glint_session_close(&session);
}

static int start(void **state) {
    (void)state;
    struct glint_engine_params params = glint_engine_params_default();
    struct glint_error error = {0};
    uint32_t random = 3;
    params.model_path = DEMO_MODEL;
    params.draft_path = DEMO_DRAFTER;
    params.n_threads = 1;
    params.n_context = 2048;
    params.n_session = 2;
    params.n_cache = 2 * params.n_context;
    must(glint_engine_open(&engine, &params, &error), &error);
    for (int i = 0; i < N_ID + 64; i++) { // a text that repeats itself, with changes
        random = random * 1664525u + 1013904223u;
        ids[i] = i < 40 || random >> 28 == 0 ? (int32_t)(random >> 16) % 4000 : ids[i - 40];
    }
    return 0;
}

static int end(void **state) {
    (void)state;
    glint_engine_close(&engine);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_shorter),
        cmocka_unit_test(test_reach),
    };
    return cmocka_run_group_tests(tests, start, end);
}
