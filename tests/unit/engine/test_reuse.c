// SPDX-License-Identifier: Apache-2.0
// test_reuse.c — checkpoints: whatever a session goes on from, its logits are those of a cold run,
// bit for bit; what agrees is found, what does not is not; memory is given back when it is needed.
#include "fault.h"
#include "sanitized.h"
#include "toy_model.h"

#include <glint/glint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The ring holds 4 pages (window 16 and 512 rows to go back): it has turned beyond 1,024 tokens.
enum { CONTEXT = 2304, N_SESSION = 3, CHUNK = 64 };

static char path[128];
static int32_t long_ids[CONTEXT];

static struct glint_engine_params toy_params(void) {
    struct glint_engine_params params = glint_engine_params_default();
    params.model_path = path;
    params.n_threads = 2;
    params.n_session = N_SESSION;
    params.n_cache = 2 * CONTEXT;
    params.n_checkpoint = 2;
    params.n_chunk = CHUNK;
    return params;
}

static void must(enum glint_status status, const struct glint_error *error) {
    if (status != GLINT_OK)
        fail_msg("%s", error->text);
}

static struct glint_engine *open_toy(const struct glint_engine_params *params) {
    struct glint_engine *engine;
    struct glint_error error = {0};
    must(glint_engine_open(&engine, params, &error), &error);
    return engine;
}

static struct glint_session *open_session(struct glint_engine *engine) {
    struct glint_session *session;
    struct glint_error error = {0};
    must(glint_session_open(&session, engine, &error), &error);
    return session;
}

static void evaluate(struct glint_session *session, const int32_t *ids, int n) {
    struct glint_eval eval = {.ids = ids, .n = n};
    struct glint_error error = {0};
    must(glint_session_eval(session, &eval, &error), &error);
}

static struct glint_resumed resume(struct glint_session *session, uint64_t group,
                                   const int32_t *ids, int n) {
    struct glint_resumed resumed;
    struct glint_error error = {0};
    must(glint_session_resume(session, group, ids, n, &resumed, &error), &error);
    assert_int_equal(glint_session_length(session), resumed.n_kept);
    assert_true(resumed.n_kept < n && resumed.n_kept <= resumed.n_common);
    assert_memory_equal(glint_session_ids(session), ids, (size_t)resumed.n_kept * sizeof *ids);
    return resumed;
}

static void keep(struct glint_session *session, int length) {
    struct glint_error error = {0};
    must(glint_session_keep(session, length, &error), &error);
}

static void drop(struct glint_session *session) {
    struct glint_error error = {0};
    must(glint_session_truncate(session, 0, &error), &error);
}

static void expect_cold(struct glint_engine *cold, const struct glint_session *session) {
    struct glint_session *other = open_session(cold);
    evaluate(other, glint_session_ids(session), glint_session_length(session));
    assert_memory_equal(glint_session_logits(other), glint_session_logits(session),
                        TOY_VOCAB * sizeof(float));
    glint_session_close(&other);
}

// Cuts at and beside page borders, before and after the ring has turned; the session that made them
// goes on meanwhile, in the pages that it shares, and another goes on from each.
static void test_cuts(void **state) {
    (void)state;
    struct glint_engine_params params = toy_params();
    params.cache_type_k = params.cache_type_v = "q8_0";
    params.n_checkpoint = 8;
    struct glint_engine *engine = open_toy(&params), *cold = open_toy(&params);
    struct glint_session *first = open_session(engine), *second = open_session(engine);
    static const int cuts[] = {1, 255, 256, 257, 700, 1024, 1537, 2000};
    int32_t other[CONTEXT], held = 0;
    memcpy(other, long_ids, sizeof other);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        int cut = cuts[i], end = cut + 40;
        if (end > held)
            evaluate(first, long_ids + held, end - held);
        held = end > held ? end : held;
        keep(first, cut); // the 40 tokens after it are there already
        other[cut] ^= 1;
        struct glint_resumed resumed = resume(second, 0, other, cut + 30);
        assert_int_equal(resumed.n_kept, cut);
        assert_int_equal(resumed.n_checkpoint, cut);
        evaluate(second, other + cut, 30);
        expect_cold(cold, second);
        evaluate(first, long_ids + held, 1);
        held++;
        expect_cold(cold, first);
        other[cut] ^= 1;
        drop(second);
    }
    assert_int_equal(glint_engine_reuse(engine).n_checkpoint, 8);
    glint_session_close(&first);
    glint_session_close(&second);
    glint_engine_close(&engine);
    glint_engine_close(&cold);
}

// What is said of a prompt: how far it agrees, what stood there instead, and how far it can go on.
static void test_what_is_found(void **state) {
    (void)state;
    struct glint_engine_params params = toy_params();
    params.n_checkpoint = 6;
    struct glint_engine *engine = open_toy(&params);
    struct glint_session *session = open_session(engine);
    int32_t ids[CONTEXT];
    memcpy(ids, long_ids, sizeof ids);
    assert_int_equal(resume(session, 5, ids, 1900).n_common, 0);
    evaluate(session, ids, 300);
    keep(session, 300);
    evaluate(session, ids + 300, 1600);
    keep(session, 1900);
    drop(session);
    assert_true(glint_engine_reuse(engine).bytes > 0);
    // The whole of it again: the last token is left for its logits.
    assert_int_equal(resume(session, 5, ids, 1900).n_kept, 1899);
    drop(session);
    assert_int_equal(resume(session, 5, ids, 2200).n_kept, 1900);
    drop(session);
    // Within the rows that can be gone back, and beyond them.
    ids[1700] ^= 1;
    assert_int_equal(resume(session, 5, ids, 2000).n_kept, 1700);
    drop(session);
    ids[1000] ^= 1;
    struct glint_resumed resumed = resume(session, 5, ids, 2000);
    assert_int_equal(resumed.n_common, 1000);
    assert_int_equal(resumed.n_kept, 300);
    assert_int_equal(resumed.n_checkpoint, 300);
    assert_int_equal(resumed.n_ahead, GLINT_RESUMED_AHEAD);
    assert_memory_equal(resumed.ahead, long_ids + 1000, sizeof resumed.ahead);
    drop(session);
    // Another group knows nothing of it, not even of what the session itself holds.
    assert_int_equal(resume(session, 5, ids, 2000).n_kept, 300);
    assert_int_equal(resume(session, 6, ids, 2000).n_common, 0);
    glint_session_close(&session);
    glint_engine_close(&engine);
}

// Two sessions that read the same hold it once when both have kept it.
static void test_pages_are_shared(void **state) {
    (void)state;
    struct glint_engine_params params = toy_params();
    params.n_cache = CONTEXT; // 9 pages, and one for each other session
    struct glint_engine *engine = open_toy(&params);
    struct glint_session *session[2];
    for (int i = 0; i < 2; i++) {
        session[i] = open_session(engine);
        evaluate(session[i], long_ids, 1200);
        keep(session[i], 1200);
    }
    // 5 pages, of which 4 are complete: 6 in use, so that 5 more tokens' pages are free.
    struct glint_session *third = open_session(engine);
    evaluate(third, long_ids + 1000, 5 * 256);
    assert_int_equal(glint_engine_reuse(engine).n_evicted, 0);
    for (int i = 0; i < 2; i++)
        glint_session_close(&session[i]);
    glint_session_close(&third);
    glint_engine_close(&engine);
}

// A full pool takes back what checkpoints hold, and that is known afterwards.
static void test_gives_way(void **state) {
    (void)state;
    struct glint_engine_params params = toy_params();
    params.n_cache = CONTEXT;
    struct glint_engine *engine = open_toy(&params), *cold = open_toy(&params);
    struct glint_session *session = open_session(engine);
    evaluate(session, long_ids, 1300);
    keep(session, 1300);
    drop(session);
    evaluate(session, long_ids + 100, 2200);
    assert_int_equal(glint_engine_reuse(engine).n_evicted, 1);
    assert_int_equal(glint_engine_reuse(engine).n_checkpoint, 0);
    expect_cold(cold, session);
    assert_int_equal(glint_engine_reuse(engine).bytes, 0);
    drop(session);
    struct glint_resumed resumed = resume(session, 0, long_ids, 1400);
    assert_int_equal(resumed.n_kept, 0);
    assert_int_equal(resumed.n_forgotten, 1300);
    glint_session_close(&session);
    glint_engine_close(&engine);
    glint_engine_close(&cold);
}

// ---- a random walk ------------------------------------------------------------------------------

enum { N_STEP = GLINT_SANITIZED ? 20 : 80 };

struct walk {
    struct glint_engine *engine, *cold;
    struct glint_session *session[N_SESSION];
    uint32_t seed;
    int64_t n_kept;
};

static int any(struct walk *walk, int n) {
    walk->seed = walk->seed * 1664525u + 1013904223u;
    return (int)((walk->seed >> 8) % (uint32_t)n);
}

// Texts branch at a few places, so that they begin alike for different lengths.
static int make_text(struct walk *walk, int32_t *ids) {
    memcpy(ids, long_ids, CONTEXT * sizeof *ids);
    int branch = any(walk, 4) * 300 + 100 * any(walk, 3), other = any(walk, 2);
    for (int i = branch; other && i < CONTEXT; i++)
        ids[i] = (ids[i] + 1) % 256;
    return 1 + any(walk, any(walk, 2) ? 400 : CONTEXT - 60);
}

static void walk_step(struct walk *walk) {
    static int32_t ids[CONTEXT];
    struct glint_error error = {0};
    int s = any(walk, N_SESSION), n, back;
    struct glint_session *session = walk->session[s];
    switch (any(walk, 5)) {
    case 0:
    case 1:
        n = make_text(walk, ids);
        int kept = resume(session, (uint64_t)any(walk, 2), ids, n).n_kept;
        walk->n_kept += kept;
        enum glint_status status = glint_session_eval(
            session, &(struct glint_eval){.ids = ids + kept, .n = n - kept}, &error);
        if (status == GLINT_E_NOMEM) // the others hold too much
            drop(session);
        else
            must(status, &error);
        break;
    case 2:
        n = glint_session_length(session);
        back = any(walk, n < 500 ? n + 1 : 500);
        if (n - back > 0 && glint_session_keep(session, n - back, &error) != GLINT_OK)
            assert_int_equal(error.status, GLINT_E_LIMIT); // resumed from too short a ring
        if (any(walk, 2))
            drop(session);
        break;
    case 3:
        n = glint_session_length(session);
        back = any(walk, n < 500 ? n + 1 : 500);
        if (glint_session_truncate(session, n - back, &error) != GLINT_OK)
            assert_int_equal(error.status, GLINT_E_LIMIT);
        break;
    default:
        for (int k = 0; k < 20; k++) { // beside one another
            int32_t next[N_SESSION];
            for (int i = 0; i < N_SESSION; i++) {
                next[i] = any(walk, 256);
                if (glint_session_length(walk->session[i]) >= CONTEXT)
                    return;
            }
            status = glint_engine_decode(walk->engine, walk->session, next, N_SESSION, &error);
            if (status == GLINT_E_NOMEM)
                drop(walk->session[any(walk, N_SESSION)]);
            else
                must(status, &error);
        }
    }
    session = walk->session[any(walk, N_SESSION)];
    if (glint_session_logits(session) && any(walk, 2))
        expect_cold(walk->cold, session);
}

static void test_random_walk(void **state) {
    (void)state;
    static const char *const caches[] = {"f16", "q8_0"};
    for (uint32_t i = 0; i < 2; i++) {
        struct glint_engine_params params = toy_params();
        params.cache_type_k = params.cache_type_v = caches[i];
        struct walk walk = {.engine = open_toy(&params), .seed = 7 + i};
        params.n_threads = 1;
        params.n_chunk = 0;
        walk.cold = open_toy(&params);
        for (int s = 0; s < N_SESSION; s++)
            walk.session[s] = open_session(walk.engine);
        for (int n = 0; n < N_STEP; n++)
            walk_step(&walk);
        assert_true(walk.n_kept > (GLINT_SANITIZED ? 0 : 1000));
        assert_true(GLINT_SANITIZED || glint_engine_reuse(walk.engine).n_evicted > 0);
        for (int s = 0; s < N_SESSION; s++)
            glint_session_close(&walk.session[s]);
        glint_engine_close(&walk.cold);
        glint_engine_close(&walk.engine);
    }
}

// ---- memory -------------------------------------------------------------------------------------

static enum glint_status whole_life(void *context, struct glint_error *err) {
    (void)context;
    struct glint_engine_params params = toy_params();
    struct glint_engine *engine = NULL;
    struct glint_session *session = NULL;
    struct glint_eval eval = {.ids = long_ids, .n = 300};
    struct glint_resumed resumed;
    params.n_context = 512;
    enum glint_status status = glint_engine_open(&engine, &params, err);
    if (status == GLINT_OK)
        status = glint_session_open(&session, engine, err);
    if (status == GLINT_OK)
        status = glint_session_eval(session, &eval, err);
    if (status == GLINT_OK)
        status = glint_session_keep(session, 290, err);
    if (status == GLINT_OK)
        status = glint_session_truncate(session, 0, err);
    if (status == GLINT_OK)
        status = glint_session_resume(session, 0, long_ids, 300, &resumed, err);
    if (status == GLINT_OK)
        assert_int_equal(resumed.n_kept, 290);
    glint_session_close(&session);
    glint_engine_close(&engine);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    assert_true(glint_fault_each(whole_life, NULL) > 40);
}

int main(void) {
    const char *place = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/glint-reuse-%d.gguf", place ? place : "/tmp", (int)getpid());
    toy_model_write(path, &(struct toy_defect){.u32_key = "muse-glimmer.context_length",
                                               .u32_value = CONTEXT,
                                               .dtype = GLINT_DTYPE_Q8_0});
    for (int i = 0; i < CONTEXT; i++)
        long_ids[i] = (int32_t)((uint32_t)i * 2654435761u >> 24);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_what_is_found),
        cmocka_unit_test(test_pages_are_shared),
        cmocka_unit_test(test_gives_way),
        cmocka_unit_test(test_random_walk),
        cmocka_unit_test(test_no_memory),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return failed;
}
