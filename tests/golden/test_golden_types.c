// SPDX-License-Identifier: Apache-2.0
// test_golden_types.c — every weight type on a whole model. With exact activations a file gives
// the logits of its own decoded-to-float32 twin; with int8 activations the distribution moves no
// further from the twin than llama.cpp's does on the same file (bench/peer_kl.py measures that).
#include "format/gguf_write.h"
#include "golden/golden_fixture.h"
#include "quant/dtype.h"
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

static const struct {
    const char *type;
    double peer_kl; // mean KL of llama.cpp v0.5.0 on the file, float32 cache; 0: float activations
} types[] = {
    {"f16", 0},        {"bf16", 0},       {"q8_0", 0.01516}, {"q4_0", 0.01520},
    {"q4_1", 0.01609}, {"q5_0", 0.01498}, {"q5_1", 0.01649}, {"q2_k", 0.03357},
    {"q3_k", 0.02961}, {"q4_k", 0.03207}, {"q5_k", 0.03182}, {"q6_k", 0.03226},
};
enum { N_TYPE = sizeof types / sizeof *types };

static void must(enum glint_status status, const struct glint_error *error) {
    if (status != GLINT_OK)
        fail_msg("%s", error->text);
}

// The same model with every tensor decoded to float32.
static void write_twin(const char *from, const char *to) {
    struct glint_error error = {0};
    struct glint_gguf *gguf;
    struct glint_gguf_writer *writer;
    must(glint_gguf_open(&gguf, from, &error), &error);
    must(glint_gguf_writer_open(&writer, &error), &error);
    for (size_t i = 0; i < gguf->n_kvs; i++)
        glint_gguf_put_kv(writer, &gguf->kvs[i]);
    for (size_t i = 0; i < gguf->n_tensors; i++)
        glint_gguf_add_tensor(writer, gguf->tensors[i].name, GLINT_DTYPE_F32,
                              gguf->tensors[i].n_dims, gguf->tensors[i].dims);
    must(glint_gguf_writer_begin(writer, to, &error), &error);
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct glint_gguf_tensor *tensor = &gguf->tensors[i];
        float *values = malloc(tensor->n_values * sizeof *values);
        assert_non_null(values);
        glint_dtype_info(tensor->type_id)->decode(tensor->data, values, tensor->n_values);
        must(glint_gguf_writer_data(writer, values, tensor->n_values * sizeof *values, &error),
             &error);
        free(values);
    }
    must(glint_gguf_writer_commit(&writer, &error), &error);
    glint_gguf_close(&gguf);
}

static struct golden_result evaluate(const struct golden *golden, const char *path, bool exact) {
    int n;
    const int32_t *ids = golden_ids(golden, "text.ids", &n);
    struct glint_engine_params params = golden_params(golden, NULL);
    params.model_path = path;
    params.exact_activations = exact;
    struct glint_engine *engine = golden_engine(&params);
    struct golden_result result = golden_eval(engine, &(struct golden_prompt){ids, n, NULL}, 0);
    glint_engine_close(&engine);
    return result;
}

static void expect_close(const char *type, const struct golden_result *a,
                         const struct golden_result *b) {
    size_t n = (size_t)a->n * (size_t)a->n_vocab;
    double sum = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a->logits[i] - (double)b->logits[i]);
        sum += d;
        largest = d > largest ? d : largest;
    }
    printf("  %-5s exact: largest %.2e, mean %.2e", type, largest, sum / (double)n);
    if (!(largest <= GLINT_TOLERANCE_LOGIT_LARGEST &&
          sum / (double)n <= GLINT_TOLERANCE_LOGIT_MEAN))
        fail_msg("%s with exact activations: largest %g, mean %g", type, largest, sum / (double)n);
}

static double log_sum_exp(const float *x, int n) {
    double max = (double)x[0], sum = 0;
    for (int i = 1; i < n; i++)
        max = fmax(max, (double)x[i]);
    for (int i = 0; i < n; i++)
        sum += exp((double)x[i] - max);
    return max + log(sum);
}

// Mean over rows of KL(p || q).
static double mean_kl(const struct golden_result *p, const struct golden_result *q) {
    double total = 0;
    for (int row = 0; row < p->n; row++) {
        const float *a = p->logits + (size_t)row * (size_t)p->n_vocab;
        const float *b = q->logits + (size_t)row * (size_t)p->n_vocab;
        double la = log_sum_exp(a, p->n_vocab), lb = log_sum_exp(b, p->n_vocab);
        for (int i = 0; i < p->n_vocab; i++)
            total += exp((double)a[i] - la) * (((double)a[i] - la) - ((double)b[i] - lb));
    }
    return total / p->n;
}

static void test_every_type(void **state) {
    (void)state;
    for (int i = 0; i < N_TYPE; i += GLINT_SANITIZED ? 4 : 1) {
        struct golden golden;
        char twin[300];
        golden_open(&golden, "wide", types[i].type);
        snprintf(twin, sizeof twin, "%s.f32", golden.gguf);
        write_twin(golden.gguf, twin);
        struct golden_result expected = evaluate(&golden, twin, true);
        struct golden_result exact = evaluate(&golden, golden.gguf, true);
        struct golden_result rounded = evaluate(&golden, golden.gguf, false);
        expect_close(types[i].type, &exact, &expected);
        double kl = mean_kl(&expected, &rounded);
        printf("; int8 activations: mean KL %.5f, llama.cpp %.5f\n", kl, types[i].peer_kl);
        if (types[i].peer_kl > 0 && !(kl <= types[i].peer_kl))
            fail_msg("%s: mean KL %g, llama.cpp has %g", types[i].type, kl, types[i].peer_kl);
        golden_result_free(&expected);
        golden_result_free(&exact);
        golden_result_free(&rounded);
        remove(twin);
        golden_close(&golden);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
