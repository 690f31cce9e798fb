// SPDX-License-Identifier: Apache-2.0
// test_mini.c — the shipped demo model means what it should: from ten held-out prompts (tool
// calls, sums, talk, a long text) it goes on with the very tokens that the official
// implementation gives on the unquantized weights.
#include "golden/golden_fixture.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

enum { N_PROMPT = 10, N_NEW = 24 };

static void check_prompts(struct golden *golden, bool exact) {
    struct glint_engine_params params = golden_params(golden, NULL);
    params.exact_activations = exact;
    if (!exact)
        params.cache_type_k = params.cache_type_v = "f16";
    struct glint_engine *engine = golden_engine(&params);
    for (int k = 0; k < N_PROMPT; k++) {
        char name[32];
        int n, n_new;
        snprintf(name, sizeof name, "%d.ids", k);
        const int32_t *ids = golden_ids(golden, name, &n);
        snprintf(name, sizeof name, "%d.greedy", k);
        const int32_t *expected = golden_ids(golden, name, &n_new);
        assert_in_range(n_new, 1, N_NEW);
        int32_t out[N_NEW];
        golden_greedy(engine, ids, n, n_new, 0, out);
        for (int i = 0; i < n_new; i++)
            if (out[i] != expected[i])
                fail_msg("prompt %d: token %d is %d, expected %d", k, i, (int)out[i],
                         (int)expected[i]);
    }
    glint_engine_close(&engine);
}

static void test_greedy(void **state) {
    (void)state;
    struct golden golden = {.shape = "mini", .gguf = "../models/glimmer-mini.gguf"};
    struct glint_error error = {0};
    if (glint_safetensors_open(&golden.golden, "golden/mini/golden.safetensors", &error))
        fail_msg("%s", error.text);
    check_prompts(&golden, false);
    check_prompts(&golden, true);
    glint_safetensors_close(&golden.golden); // golden_close would remove the shipped file
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_greedy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
