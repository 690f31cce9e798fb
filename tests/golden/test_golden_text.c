// SPDX-License-Identifier: Apache-2.0
// test_golden_text.c — the text model against the official implementation: logits and hidden
// rows at every tier, greedy text in chunks of every kind. Limits: docs/numerics.md.
#include "cpu/cpu.h"
#include "golden/golden_fixture.h"
#include "sanitized.h"
#include "tolerance.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_GREEDY = 24 };

static const char *const shapes[] = {"nano", "wide", "one", "odd", "six", "five", "deep"};
enum { N_SHAPE = sizeof shapes / sizeof *shapes, SHAPE_STEP = GLINT_SANITIZED ? 3 : 1 };

static void compare_logits(const struct golden *golden, const struct golden_result *result) {
    int n, n_vocab;
    const float *expected = golden_rows(golden, "text.logits", &n, &n_vocab);
    assert_int_equal(n, result->n);
    assert_int_equal(n_vocab, result->n_vocab);
    double sum = 0, largest = 0;
    size_t count = (size_t)n * (size_t)n_vocab;
    for (size_t i = 0; i < count; i++) {
        double d = fabs((double)expected[i] - (double)result->logits[i]);
        assert_true(d == d);
        sum += d;
        largest = d > largest ? d : largest;
    }
    printf("    logits: largest difference %.2e, mean %.2e\n", largest, sum / (double)count);
    if (largest > GLINT_TOLERANCE_LOGIT_LARGEST || sum / (double)count > GLINT_TOLERANCE_LOGIT_MEAN)
        fail_msg("logits of %s: largest difference %g, mean %g", golden->shape, largest,
                 sum / (double)count);
}

static void compare_hidden(const struct golden *golden, const struct golden_result *result) {
    double worst = 0;
    for (int k = 0; k <= result->n_layer; k++) {
        char name[32];
        int n, width;
        snprintf(name, sizeof name, "text.hidden.%d", k);
        const float *expected = golden_rows(golden, name, &n, &width);
        assert_int_equal(n, result->n);
        assert_int_equal(width, result->width);
        for (int i = 0; i < n; i++) {
            const float *e = expected + (size_t)i * (size_t)width;
            const float *r = result->hidden + ((size_t)k * (size_t)n + (size_t)i) * (size_t)width;
            double largest = 0, scale = 0;
            for (int j = 0; j < width; j++) {
                largest = fmax(largest, fabs((double)e[j] - (double)r[j]));
                scale = fmax(scale, fabs((double)e[j]));
            }
            worst = fmax(worst, largest / scale);
            if (!(largest <= GLINT_TOLERANCE_HIDDEN * scale))
                fail_msg("%s: hidden row %d after %d layers: difference %g of %g", golden->shape, i,
                         k, largest, scale);
        }
    }
    printf("    hidden: largest relative difference %.2e\n", worst);
}

static void check_shape(const char *shape, const char *type, const char *tier) {
    struct golden golden;
    int n;
    golden_open(&golden, shape, type);
    const int32_t *ids = golden_ids(&golden, "text.ids", &n);
    struct glint_engine_params params = golden_params(&golden, tier);
    struct glint_engine *engine = golden_engine(&params);
    printf("  %s, %s, %s\n", shape, type, glint_engine_info(engine).tier);
    struct golden_result result = golden_eval(engine, &(struct golden_prompt){ids, n, NULL}, 0);
    compare_logits(&golden, &result);
    compare_hidden(&golden, &result);
    golden_result_free(&result);
    glint_engine_close(&engine);
    golden_close(&golden);
}

static void test_every_tier(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPE; s += SHAPE_STEP)
        for (size_t t = 0; glint_cpu_tier_at(t); t++)
            check_shape(shapes[s], "f32", glint_cpu_tier_at(t));
}

static void test_bf16(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPE; s += SHAPE_STEP)
        check_shape(shapes[s], "bf16", NULL);
}

static void test_greedy_in_chunks(void **state) {
    (void)state;
    static const int chunks[] = {1, 7, 64, 0};
    for (int s = 0; s < N_SHAPE; s += SHAPE_STEP) {
        struct golden golden;
        int n, n_all;
        golden_open(&golden, shapes[s], "bf16");
        const int32_t *ids = golden_ids(&golden, "text.ids", &n);
        const int32_t *all = golden_ids(&golden, "greedy.ids", &n_all);
        assert_int_equal(n_all, n + N_GREEDY);
        struct glint_engine_params params = golden_params(&golden, NULL);
        struct glint_engine *engine = golden_engine(&params);
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
            int32_t out[N_GREEDY];
            golden_greedy(engine, &(struct golden_prompt){ids, n, NULL}, N_GREEDY, chunks[c], out);
            for (int i = 0; i < N_GREEDY; i++)
                assert_int_equal(out[i], all[n + i]);
        }
        glint_engine_close(&engine);
        golden_close(&golden);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tier),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_greedy_in_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
