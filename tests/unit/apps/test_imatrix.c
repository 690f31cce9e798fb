// SPDX-License-Identifier: Apache-2.0
// `glint imatrix` on a tiny model: what it measures, and that quantize reads it.
#include "cmd.h"
#include "options.h"
#include "quantize_importance.h"
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

static struct { char folder[64], model[96], text[96], out[96], quantized[96]; } t;

static int setup(void **state) {
    (void)state;
    snprintf(t.folder, sizeof t.folder, "/tmp/glint_imatrix_XXXXXX");
    assert_non_null(mkdtemp(t.folder));
    snprintf(t.model, sizeof t.model, "%s/m.gguf", t.folder);
    snprintf(t.text, sizeof t.text, "%s/t.txt", t.folder);
    snprintf(t.out, sizeof t.out, "%s/i.gguf", t.folder);
    snprintf(t.quantized, sizeof t.quantized, "%s/q.gguf", t.folder);
    toy_model_write(t.model, NULL);
    FILE *file = fopen(t.text, "wb");
    assert_non_null(file);
    for (int i = 0; i < 40; i++)
        fprintf(file, "line %d of a text\n", i);
    fclose(file);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    unlink(t.model);
    unlink(t.text);
    unlink(t.out);
    unlink(t.quantized);
    return rmdir(t.folder);
}

static int run(const char *model, const char *text, const char *out, const char *window) {
    const char *argv[] = {"imatrix", "-m",       model,  "-f", text, "-o", out,
                          "-q",      "--window", window, "-t", "1",  NULL};
    return glint_cmd_imatrix(12, (char **)argv);
}

// A normed row has mean square 1 before its gain, so these means are known.
static void check_normed(const struct glint_importance *importance, const struct glint_gguf *gguf,
                         const char *matrix, const char *norm) {
    const float *mean;
    const struct glint_gguf_tensor *gain = glint_gguf_find_tensor(gguf, norm);
    assert_non_null(gain);
    assert_int_equal(glint_importance_find(importance, matrix, TOY_WIDTH, &mean, NULL), GLINT_OK);
    if (mean == NULL)
        fail_msg("nothing for %s", matrix);
    const float *gains = (const float *)(const void *)gain->data;
    double sum = 0.0;
    for (int i = 0; i < TOY_WIDTH; i++)
        sum += (double)mean[i] / ((double)gains[i] * (double)gains[i]);
    if (fabs(sum / TOY_WIDTH - 1.0) > 1e-3)
        fail_msg("%s: mean square %g, expected 1", matrix, sum / TOY_WIDTH);
}

static void test_sums_are_those_of_normed_rows(void **state) {
    (void)state;
    struct glint_importance *importance;
    struct glint_gguf *gguf;
    const char *windows[] = {"64", "300"};
    for (int w = 0; w < 2; w++) {
        assert_int_equal(run(t.model, t.text, t.out, windows[w]), GLINT_EXIT_OK);
        assert_int_equal(glint_importance_open(&importance, t.out, NULL), GLINT_OK);
        assert_int_equal(glint_gguf_open(&gguf, t.model, NULL), GLINT_OK);
        assert_int_equal(glint_importance_count(importance), 8 * TOY_LAYERS + 1);
        check_normed(importance, gguf, "blk.0.attn_q.weight", "blk.0.attn_norm.weight");
        check_normed(importance, gguf, "blk.0.attn_v.weight", "blk.0.attn_norm.weight");
        check_normed(importance, gguf, "blk.3.attn_gate.weight", "blk.3.attn_norm.weight");
        check_normed(importance, gguf, "blk.3.ffn_up.weight", "blk.3.ffn_norm.weight");
        check_normed(importance, gguf, "output.weight", "output_norm.weight");
        const float *mean;
        assert_int_equal(glint_importance_find(importance, "token_embd.weight", 1, &mean, NULL),
                         GLINT_OK);
        assert_null(mean);
        glint_gguf_close(&gguf);
        glint_importance_close(&importance);
    }
}

static void test_quantize_reads_it(void **state) {
    (void)state;
    struct glint_quantize order = {
        .input = t.model, .output = t.quantized, .n_threads = 1, .imatrix_path = t.out};
    struct glint_quantize_report report;
    assert_int_equal(run(t.model, t.text, t.out, "64"), GLINT_EXIT_OK);
    assert_true(glint_quantize_recipe_find("q4_0", &order.recipe));
    assert_int_equal(glint_quantize_run(&order, &report, NULL), GLINT_OK);
    assert_int_equal(report.n_unweighted, 0);
}

static void test_refusals(void **state) {
    (void)state;
    unlink(t.out);
    assert_int_equal(run(t.model, t.text, t.model, "64"), GLINT_EXIT_FAILED);
    assert_int_equal(run(t.model, t.text, t.text, "64"), GLINT_EXIT_FAILED);
    assert_int_equal(run(t.text, t.text, t.out, "64"), GLINT_EXIT_FAILED);
    assert_int_equal(run(t.model, "/dev/null", t.out, "64"), GLINT_EXIT_FAILED);
    assert_int_equal(run(t.model, t.text, t.out, "0"), GLINT_EXIT_USAGE);
    assert_int_not_equal(access(t.out, F_OK), 0);
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(run(t.model, t.text, "/dev/full", "64"), GLINT_EXIT_FAILED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_those_of_normed_rows),
        cmocka_unit_test(test_quantize_reads_it),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
