// SPDX-License-Identifier: Apache-2.0
// `glint perplexity` against a saved base: the divergence of each position, and what is refused.
#include "cmd.h"
#include "options.h"
#include "quantize_run.h"
#include "toy_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { N_IDS = 100, WINDOW = 32, BODY = 31, N_SCORED = N_IDS / BODY * (WINDOW / 2 - 1) };

static struct { char folder[64], model[96], small[96], base[96], rows[96], ids[512]; } t;

static int setup(void **state) {
    (void)state;
    size_t n = 0;
    snprintf(t.folder, sizeof t.folder, "/tmp/glint_perplexity_XXXXXX");
    assert_non_null(mkdtemp(t.folder));
    snprintf(t.model, sizeof t.model, "%s/m.gguf", t.folder);
    snprintf(t.small, sizeof t.small, "%s/q.gguf", t.folder);
    snprintf(t.base, sizeof t.base, "%s/base", t.folder);
    snprintf(t.rows, sizeof t.rows, "%s/rows", t.folder);
    toy_model_write(t.model, NULL);
    for (int i = 0; i < N_IDS; i++)
        n += (size_t)snprintf(t.ids + n, sizeof t.ids - n, "%s%d", i ? "," : "", i * 7 % 90);
    struct glint_quantize order = {.input = t.model, .output = t.small, .n_threads = 1};
    struct glint_quantize_report report;
    assert_true(glint_quantize_recipe_find("q4_0", &order.recipe));
    assert_int_equal(glint_quantize_run(&order, &report, NULL), GLINT_OK);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    unlink(t.model);
    unlink(t.small);
    unlink(t.base);
    unlink(t.rows);
    return rmdir(t.folder); // fails when anything else was left there
}

// With one or two options that take a file; NULL ends them early.
static int run(const char *model, const char *ids, const char *const option[4]) {
    const char *argv[16] = {"perplexity", "-m", model, "--ids", ids,
                            "--window",   "32", "-t",  "1",     "-q"};
    int argc = 10;
    for (int i = 0; i < 4 && option[i] != NULL; i++)
        argv[argc++] = option[i];
    return glint_cmd_perplexity(argc, (char **)argv);
}

struct divergence {
    int n, n_same;
    double mean, least, most;
};

static struct divergence compare(const char *model) {
    struct divergence found = {0, 0, 0.0, INFINITY, -INFINITY};
    const char *const option[] = {"--kl-base", t.base, "--kl-rows", t.rows};
    char line[64], *end;
    assert_int_equal(run(model, t.ids, option), GLINT_EXIT_OK);
    FILE *file = fopen(t.rows, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        double kl = strtod(line, &end);
        assert_true(strcmp(end, " 0\n") == 0 || strcmp(end, " 1\n") == 0);
        found.n++;
        found.n_same += end[1] == '1';
        found.mean += kl;
        found.least = fmin(found.least, kl);
        found.most = fmax(found.most, kl);
    }
    fclose(file);
    found.mean /= found.n;
    return found;
}

static void save_base(void) {
    const char *const option[] = {"--kl-save", t.base, NULL, NULL};
    assert_int_equal(run(t.model, t.ids, option), GLINT_EXIT_OK);
}

static void test_rows_of_the_same_model(void **state) {
    (void)state;
    save_base();
    struct divergence found = compare(t.model);
    assert_int_equal(found.n, N_SCORED);
    assert_int_equal(found.n_same, N_SCORED);
    assert_true(fabs(found.least) < 1e-12 && fabs(found.most) < 1e-12);
}

static void test_rows_of_a_smaller_file(void **state) {
    (void)state;
    save_base();
    struct divergence found = compare(t.small);
    assert_int_equal(found.n, N_SCORED);
    assert_true(found.least > -1e-12 && found.mean > 1e-8 && found.most < 1.0);
}

static void test_refusals(void **state) {
    (void)state;
    const char *const alone[] = {"--kl-rows", t.rows, NULL, NULL};
    const char *const both[] = {"--kl-base", t.base, "--kl-rows", t.rows};
    const char *const saved[] = {"--kl-save", t.base, "--kl-base", t.base};
    save_base();
    assert_int_equal(run(t.model, t.ids, alone), GLINT_EXIT_USAGE);
    assert_int_equal(run(t.model, t.ids, saved), GLINT_EXIT_USAGE);
    unlink(t.rows);
    assert_int_equal(run(t.model, t.ids + 2, both), GLINT_EXIT_FAILED); // another text
    assert_int_not_equal(access(t.rows, F_OK), 0);
    assert_int_equal(truncate(t.base, 5000), 0);
    assert_int_equal(run(t.model, t.ids, both), GLINT_EXIT_FAILED); // ends too early
    assert_int_not_equal(access(t.rows, F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_the_same_model),
        cmocka_unit_test(test_rows_of_a_smaller_file),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
