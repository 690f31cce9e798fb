// SPDX-License-Identifier: Apache-2.0
// test_logit_row.c — the blocked passes against plain loops in double.
#include "sample/logit_row.h"

#include "sample/select.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_N = 1200, MAX_BLOCKS = MAX_N / GLINT_ROW_BLOCK + 1 };

struct fixture {
    float logits[MAX_N];
    uint32_t allowed[MAX_N / 32 + 1];
    float block_max[MAX_BLOCKS];
    double block_sum[MAX_BLOCKS];
    uint64_t keys[MAX_N];
    struct glint_logit_row row;
};

static struct fixture fixture;

static void fill(int32_t n, bool masked) {
    for (int32_t i = 0; i < n; i++)
        fixture.logits[i] = (float)(rand() % 400) * 0.1f - 30;
    for (int32_t i = 0; i <= n / 32; i++)
        fixture.allowed[i] = rand() % 4 ? (uint32_t)rand() * 2654435761u : UINT32_MAX;
    fixture.row = (struct glint_logit_row){.logits = fixture.logits,
                                           .allowed = masked ? fixture.allowed : NULL,
                                           .n = n,
                                           .block_max = fixture.block_max};
}

static bool allowed(int32_t id) {
    return !fixture.row.allowed || fixture.allowed[id / 32] >> id % 32 & 1;
}

static void check_row(int32_t n, float temperature) {
    struct glint_logit_row *row = &fixture.row;
    float max = -INFINITY;
    int32_t best = -1;
    for (int32_t i = 0; i < n; i++)
        if (allowed(i) && fixture.logits[i] > max)
            max = fixture.logits[best = i];
    if (best < 0) {
        assert_int_equal(glint_logit_row_scan(row, NULL), GLINT_E_FORMAT);
        return;
    }
    assert_int_equal(glint_logit_row_scan(row, NULL), GLINT_OK);
    assert_true(row->max == max);
    assert_int_equal(glint_logit_row_best(row), best);
    size_t n_keys = glint_logit_row_gather(row, max - 5, fixture.keys), n_wanted = 0;
    double sum = 0, sum_kept = 0;
    uint64_t last = glint_key_of(max - 3, n / 2);
    for (int32_t i = 0; i < n; i++) {
        if (!allowed(i))
            continue;
        if (fixture.logits[i] >= max - 5)
            assert_true(fixture.keys[n_wanted++] == glint_key_of(fixture.logits[i], i));
        double weight = exp(((double)fixture.logits[i] - (double)max) / (double)temperature);
        sum += weight;
        if (glint_key_of(fixture.logits[i], i) <= last)
            sum_kept += weight;
    }
    assert_int_equal(n_keys, n_wanted);
    struct glint_row_weights weights = {glint_key_worst(), temperature, fixture.block_sum, 0};
    glint_logit_row_weigh(row, &weights);
    assert_true(fabs(weights.sum / sum - 1) < 1e-6);
    assert_true(allowed(glint_logit_row_draw(row, &weights, 0)));
    assert_true(allowed(glint_logit_row_draw(row, &weights, 1 - 0x1p-53)));
    weights.last = last;
    glint_logit_row_weigh(row, &weights);
    assert_true(fabs(weights.sum / sum_kept - 1) < 1e-6);
}

static void test_against_plain(void **state) {
    (void)state;
    srand(3);
    static const int32_t sizes[] = {1, 15, 16, 31, 255, 256, 257, 500, 512, 1000, 1199};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int round = 0; round < 40; round++) {
            fill(sizes[s], round % 2);
            check_row(sizes[s], round % 3 ? 1.0f : 0.1f * (float)(round + 1));
        }
}

// The draw inverts the running sum: its answer changes at the border between two tokens.
static void test_draw_borders(void **state) {
    (void)state;
    fill(700, false);
    for (int32_t i = 0; i < 700; i++)
        fixture.logits[i] = -INFINITY;
    static const int32_t ids[] = {0, 255, 256, 699};
    for (int i = 0; i < 4; i++)
        fixture.logits[ids[i]] = 2;
    assert_int_equal(glint_logit_row_scan(&fixture.row, NULL), GLINT_OK);
    struct glint_row_weights weights = {glint_key_worst(), 1, fixture.block_sum, 0};
    glint_logit_row_weigh(&fixture.row, &weights);
    assert_true(weights.sum == 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(glint_logit_row_draw(&fixture.row, &weights, i * 0.25), ids[i]);
        assert_int_equal(glint_logit_row_draw(&fixture.row, &weights, i * 0.25 + 0.2499999),
                         ids[i]);
    }
}

static void test_unsound(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY};
    for (int i = 0; i < 2; i++)
        for (int32_t at = 0; at < 300; at += 23) {
            struct glint_error err;
            fill(300, true);
            fixture.allowed[at / 32] = 0; // named although masked
            fixture.logits[at] = bad[i];
            assert_int_equal(glint_logit_row_scan(&fixture.row, &err), GLINT_E_FORMAT);
            char name[32];
            snprintf(name, sizeof name, "logits[%d]: found %s", at, i ? "+inf" : "NaN");
            assert_non_null(strstr(err.text, name));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_plain),
        cmocka_unit_test(test_draw_borders),
        cmocka_unit_test(test_unsound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
