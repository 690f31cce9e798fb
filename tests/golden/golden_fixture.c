// SPDX-License-Identifier: Apache-2.0
// golden_fixture.c — converting, opening and evaluating a golden checkpoint.
#include "golden/golden_fixture.h"

#include "cmd.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(enum glint_status status, const struct glint_error *error) {
    if (status != GLINT_OK)
        fail_msg("%s", error->text);
}

// vision: where the vision file goes, or NULL.
static void convert(char *folder, char *out, const char *type, char *vision) {
    char words[6][16] = {"convert", "-o", "--type", "", "-q", "--mmproj"};
    snprintf(words[3], sizeof words[3], "%s", type);
    char *argv[] = {words[0], folder,   words[1], out,    words[2],
                    words[3], words[4], words[5], vision, NULL};
    if (!vision)
        argv[7] = NULL;
    assert_int_equal(glint_cmd_convert(vision ? 9 : 7, argv), 0);
}

void golden_convert(struct golden *golden, const char *folder) {
    char path[200];
    snprintf(path, sizeof path, "golden/%s/%s", golden->shape, folder);
    const char *place = getenv("TMPDIR");
    snprintf(golden->part, sizeof golden->part, "%s/glint-%s-%s-%d.gguf", place ? place : "/tmp",
             golden->shape, folder, (int)getpid());
    convert(path, golden->part, "bf16", NULL);
}

void golden_open(struct golden *golden, const char *shape, const char *type) {
    char folder[128], path[160];
    struct glint_error error = {0};
    *golden = (struct golden){.shape = shape};
    snprintf(folder, sizeof folder, "golden/%s", shape);
    snprintf(path, sizeof path, "%s/golden.safetensors", folder);
    check(glint_safetensors_open(&golden->golden, path, &error), &error);
    const char *place = getenv("TMPDIR");
    snprintf(golden->gguf, sizeof golden->gguf, "%s/glint-%s-%s-%d.gguf", place ? place : "/tmp",
             shape, type, (int)getpid());
    snprintf(golden->mmproj, sizeof golden->mmproj, "%s-mmproj", golden->gguf);
    convert(folder, golden->gguf, type, golden->mmproj);
}

void golden_close(struct golden *golden) {
    glint_safetensors_close(&golden->golden);
    remove(golden->gguf);
    remove(golden->mmproj);
    if (golden->part[0])
        remove(golden->part);
}

bool golden_has(const struct golden *golden, const char *name) {
    return glint_safetensors_find(golden->golden, name) != NULL;
}

static const struct glint_safetensors_tensor *find(const struct golden *golden, const char *name,
                                                   enum glint_safetensors_dtype dtype) {
    const struct glint_safetensors_tensor *tensor = glint_safetensors_find(golden->golden, name);
    if (!tensor || tensor->dtype != dtype)
        fail_msg("golden %s: tensor %s missing or of another type", golden->shape, name);
    return tensor;
}

const int32_t *golden_ids(const struct golden *golden, const char *name, int *n) {
    const struct glint_safetensors_tensor *tensor = find(golden, name, GLINT_SAFETENSORS_I32);
    *n = (int)tensor->n_values;
    return (const int32_t *)(const void *)tensor->data;
}

const uint8_t *golden_frames(const struct golden *golden, const char *name, int size[3]) {
    const struct glint_safetensors_tensor *tensor = find(golden, name, GLINT_SAFETENSORS_U8);
    assert_int_equal(tensor->n_dims, 4);
    assert_int_equal(tensor->dims[3], 3);
    for (int i = 0; i < 3; i++)
        size[i] = (int)tensor->dims[i];
    return tensor->data;
}

const uint8_t *golden_rgb(const struct golden *golden, const char *name, int *height, int *width) {
    const struct glint_safetensors_tensor *tensor = find(golden, name, GLINT_SAFETENSORS_U8);
    assert_int_equal(tensor->n_dims, 3);
    assert_int_equal(tensor->dims[2], 3);
    *height = (int)tensor->dims[0];
    *width = (int)tensor->dims[1];
    return tensor->data;
}

const float *golden_rows(const struct golden *golden, const char *name, int *n_row, int *n_col) {
    const struct glint_safetensors_tensor *tensor = find(golden, name, GLINT_SAFETENSORS_F32);
    assert_int_equal(tensor->n_dims, 2);
    *n_row = (int)tensor->dims[0];
    *n_col = (int)tensor->dims[1];
    return (const float *)(const void *)tensor->data;
}

struct glint_engine_params golden_params(const struct golden *golden, const char *tier) {
    struct glint_engine_params params = glint_engine_params_default();
    params.model_path = golden->gguf;
    params.cpu_tier = tier;
    params.device = getenv("GLINT_TEST_DEVICE"); // tools/cuda_check.sh
    params.n_threads = 2;
    params.n_context = 2048;
    params.cache_type_k = params.cache_type_v = "f32";
    params.exact_activations = true;
    return params;
}

struct glint_engine *golden_engine(const struct glint_engine_params *params) {
    struct glint_engine *engine;
    struct glint_error error = {0};
    check(glint_engine_open(&engine, params, &error), &error);
    return engine;
}

static void keep_logits(void *user, int position, const float *logits) {
    struct golden_result *result = user;
    size_t n = (size_t)result->n_vocab;
    memcpy(result->logits + (size_t)position * n, logits, n * sizeof(float));
}

static void keep_hidden(void *user, int k, int position, const float *row) {
    struct golden_result *result = user;
    size_t width = (size_t)result->width;
    size_t index = (size_t)k * (size_t)result->n + (size_t)position;
    memcpy(result->hidden + index * width, row, width * sizeof(float));
}

struct golden_result golden_eval(struct glint_engine *engine, const struct golden_prompt *prompt,
                                 int n_chunk) {
    int n = prompt->n;
    struct glint_engine_info info = glint_engine_info(engine);
    struct golden_result result = {
        .n = n, .n_vocab = info.n_vocab, .n_layer = info.n_layer, .width = info.width};
    size_t rows = (size_t)n;
    result.logits = calloc(rows * (size_t)info.n_vocab, sizeof(float));
    result.hidden = calloc(rows * (size_t)(info.n_layer + 1) * (size_t)info.width, sizeof(float));
    assert_true(result.logits && result.hidden);
    struct glint_session *session;
    struct glint_error error = {0};
    struct glint_eval eval = {.ids = prompt->ids,
                              .n = n,
                              .n_chunk = n_chunk,
                              .n_logits = n,
                              .on_logits = keep_logits,
                              .on_hidden = keep_hidden,
                              .user = &result};
    check(glint_session_open(&session, engine, &error), &error);
    check(glint_session_set_pictures(session, &prompt->picture, prompt->picture != NULL, &error),
          &error);
    check(glint_session_eval(session, &eval, &error), &error);
    glint_session_close(&session);
    return result;
}

void golden_result_free(struct golden_result *result) {
    free(result->logits);
    free(result->hidden);
}

void golden_greedy(struct glint_engine *engine, const struct golden_prompt *prompt, int n_new,
                   int n_chunk, int32_t *out) {
    struct glint_session *session;
    struct glint_error error = {0};
    struct glint_eval eval = {.ids = prompt->ids, .n = prompt->n, .n_chunk = n_chunk};
    struct glint_sampler_options greedy = {.top_p = 1, .repeat_penalty = 1};
    check(glint_session_open(&session, engine, &error), &error);
    check(glint_session_set_pictures(session, &prompt->picture, prompt->picture != NULL, &error),
          &error);
    check(glint_session_set_sampler(session, &greedy, &error), &error);
    check(glint_session_eval(session, &eval, &error), &error);
    for (int i = 0; i < n_new; i++) {
        struct glint_sample sample;
        check(glint_session_sample(session, &sample, &error), &error);
        out[i] = sample.id;
        check(glint_engine_decode(engine, &session, &sample.id, 1, &error), &error);
    }
    glint_session_close(&session);
}
