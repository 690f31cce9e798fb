// SPDX-License-Identifier: Apache-2.0
// test_pool.c — every share is executed once a run, results are visible; the split of work covers
// everything once. Runs under the thread sanitizer too.
#include "base/pool.h"

#include "fault.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

static void pause_ms(long ms) {
    struct timespec span = {.tv_sec = 0, .tv_nsec = ms * 1000000};
    nanosleep(&span, NULL);
}

enum { MAX_TEAM = 8, N_PHASE = 20 };
static const int teams[] = {1, 2, 3, MAX_TEAM};
enum { N_TEAM = sizeof teams / sizeof *teams };

struct tally {
    int n_workers; // expected
    int n_call[MAX_TEAM];
    int n_bad;
    bool slow;
};

static void count_call(void *context, int i_worker, int n_workers) {
    struct tally *tally = context;
    tally->n_call[i_worker]++; // plain: each worker has its own
    if (n_workers != tally->n_workers)
        tally->n_bad++;
    if (tally->slow && i_worker == n_workers - 1)
        pause_ms(1); // the others fall asleep meanwhile
}

static void test_run(void **state) {
    (void)state;
    for (int i = 0; i < N_TEAM; i++) {
        struct glint_pool *pool;
        assert_int_equal(glint_pool_open(&pool, teams[i], NULL), GLINT_OK);
        assert_int_equal(glint_pool_n_workers(pool), teams[i]);
        struct tally tally = {.n_workers = teams[i]};
        for (int round = 0; round < 500; round++) {
            if (round % 100 == 0)
                pause_ms(1); // runs that find the workers asleep
            tally.slow = round % 50 == 1;
            glint_pool_run(pool, count_call, &tally);
            for (int w = 0; w < teams[i]; w++)
                assert_int_equal(tally.n_call[w], round + 1);
        }
        assert_int_equal(tally.n_bad, 0);
        glint_pool_close(&pool);
        assert_null(pool);
        glint_pool_close(&pool);
    }
}

struct relay {
    int phase;
    int value[N_PHASE + 1][MAX_TEAM]; // [phase][share]
    atomic_int n_bad;
};

// Reads what every share wrote in the run before.
static void relay(void *context, int i_worker, int n_workers) {
    struct relay *relay = context;
    int sum = 1;
    for (int w = 0; w < n_workers; w++)
        sum += relay->value[relay->phase - 1][w];
    if (relay->value[relay->phase][i_worker] != 0)
        atomic_fetch_add(&relay->n_bad, 1); // twice in one run
    relay->value[relay->phase][i_worker] = sum % 1000 + 1;
    if (relay->phase % 7 == 0 && i_worker == 0)
        pause_ms(1);
    if (relay->phase % 5 == 0 && i_worker == 1)
        pause_ms(1); // the caller has to wait for a share that was begun
}

// One run after another: results are seen by the next, and each share is executed once, whether
// its worker came in time or the caller did it.
static void test_runs_in_a_row(void **state) {
    (void)state;
    for (int i = 0; i < N_TEAM; i++) {
        struct glint_pool *pool;
        assert_int_equal(glint_pool_open(&pool, teams[i], NULL), GLINT_OK);
        for (int round = 0; round < 20; round++) {
            struct relay board = {.phase = 1};
            for (; board.phase <= N_PHASE; board.phase++)
                glint_pool_run(pool, relay, &board);
            assert_int_equal(atomic_load(&board.n_bad), 0);
            int expected = 1;
            for (int phase = 1; phase <= N_PHASE; phase++) {
                expected = phase == 1 ? 2 : (1 + teams[i] * expected) % 1000 + 1;
                for (int w = 0; w < teams[i]; w++)
                    assert_int_equal(board.value[phase][w], expected);
            }
        }
        glint_pool_close(&pool);
    }
}

static void test_open_and_close(void **state) {
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct glint_pool *pool;
        assert_int_equal(glint_pool_open(&pool, 1 + i % 4, NULL), GLINT_OK);
        if (i % 3 == 0)
            pause_ms(1);
        glint_pool_close(&pool);
    }
    struct glint_error err = {.status = GLINT_OK};
    struct glint_pool *pool;
    assert_int_equal(glint_pool_open(&pool, 1000000, &err), GLINT_E_LIMIT);
    assert_null(pool);
    assert_non_null(strstr(err.text, "1000000"));
}

static enum glint_status life(void *context, struct glint_error *err) {
    (void)context;
    struct glint_pool *pool;
    GLINT_TRY(glint_pool_open(&pool, 2, err));
    struct tally tally = {.n_workers = 2};
    glint_pool_run(pool, count_call, &tally);
    glint_pool_close(&pool);
    return GLINT_OK;
}

static void test_fault(void **state) {
    (void)state;
    assert_int_equal(glint_fault_each(life, NULL), 2);
}

static void test_range(void **state) {
    (void)state;
    static const int64_t counts[] = {0, 1, 2, 3, 15, 16, 17, 100, 6656, 250112, INT64_C(1) << 40};
    static const int64_t units[] = {1, 4, 16, 32};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            for (int n_workers = 1; n_workers <= 9; n_workers++) {
                int64_t at = 0, least = INT64_MAX, most = 0;
                for (int w = 0; w < n_workers; w++) {
                    struct glint_range range = glint_pool_range(counts[c], units[u], w, n_workers);
                    assert_true(range.begin == at && range.end >= range.begin);
                    assert_true(range.begin % units[u] == 0 || range.begin == counts[c]);
                    at = range.end;
                    int64_t share = range.end - range.begin;
                    least = share < least ? share : least;
                    most = share > most ? share : most;
                }
                assert_true(at == counts[c]);
                assert_true(most - least <= 2 * units[u] - 1); // one unit, and the short last one
            }
        }
    }
}

static void test_cpu_count(void **state) {
    (void)state;
    assert_true(glint_cpu_count() >= 1);
    assert_int_equal(glint_cpu_count(), glint_cpu_count());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_runs_in_a_row),
        cmocka_unit_test(test_open_and_close),
        cmocka_unit_test(test_fault),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_cpu_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
