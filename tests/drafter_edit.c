// SPDX-License-Identifier: Apache-2.0
// drafter_edit.c — see drafter_edit.h.
#include "drafter_edit.h"

#include "format/gguf_write.h"
#include "quant/dtype.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXTRA_WIDTH = 256, MAX_COL = 1024 };

static void must(enum glint_status status, const struct glint_error *error) {
    if (status == GLINT_OK)
        return;
    fprintf(stderr, "drafter: %s\n", error->text);
    abort();
}

static bool is(const char *name, const char *chosen) {
    return chosen && strcmp(name, chosen) == 0;
}

static void put_tokens(struct glint_gguf_writer *writer, const struct glint_gguf_kv *kv,
                       const struct drafter_edit *edit) {
    uint64_t n = kv->n - (uint64_t)edit->n_less_tokens;
    glint_gguf_put_strings(writer, kv->key, n);
    for (uint64_t i = 0; i < n; i++) {
        struct glint_view text;
        if (!glint_gguf_item_string(kv, i, &text))
            abort();
        glint_gguf_put_item(writer, i == 1 && edit->other_token ? glint_view_of("other") : text);
    }
}

static void put_key(struct glint_gguf_writer *writer, const struct glint_gguf_kv *kv,
                    const struct drafter_edit *edit) {
    const bool pattern[2] = {true, false};
    if (is(kv->key, edit->drop_key))
        return;
    if (is(kv->key, edit->u32_key))
        glint_gguf_put_u32(writer, kv->key, edit->u32_value);
    else if (is(kv->key, edit->f32_key))
        glint_gguf_put_f32(writer, kv->key, edit->f32_value);
    else if (is(kv->key, edit->i32s_key))
        glint_gguf_put_i32s(writer, kv->key, edit->i32s, (uint64_t)edit->n_i32s);
    else if (edit->full_layer && is(kv->key, "dflash.attention.sliding_window_pattern"))
        glint_gguf_put_bools(writer, kv->key, pattern, 2);
    else if ((edit->n_less_tokens || edit->other_token) && is(kv->key, "tokenizer.ggml.tokens"))
        put_tokens(writer, kv, edit);
    else
        glint_gguf_put_kv(writer, kv);
}

static void put_random(struct glint_gguf_writer *writer, const struct glint_gguf_tensor *tensor,
                       uint32_t *seed) {
    const struct glint_dtype_info *info = glint_dtype_info(tensor->type_id);
    uint64_t n_col = tensor->dims[0];
    float row[MAX_COL];
    uint8_t bytes[MAX_COL * sizeof(float)];
    struct glint_error error = {0};
    if (n_col > MAX_COL)
        abort();
    for (uint64_t r = 0; r < tensor->n_values / n_col; r++) {
        for (uint64_t c = 0; c < n_col; c++) {
            *seed = *seed * 1664525u + 1013904223u;
            float random = (float)(*seed >> 8) / (float)(1 << 24) - 0.5f;
            row[c] = tensor->n_dims == 1 ? 1 + 0.5f * random : 0.3f * random;
        }
        info->encode(row, NULL, bytes, (size_t)n_col);
        must(glint_gguf_writer_data(writer, bytes, glint_dtype_bytes(info->dtype, n_col), &error),
             &error);
    }
}

static void put_data(struct glint_gguf_writer *writer, const struct glint_gguf_tensor *tensor,
                     const struct drafter_edit *edit, uint32_t *seed) {
    struct glint_error error = {0};
    if (edit->random) {
        put_random(writer, tensor, seed);
        return;
    }
    uint8_t *data = malloc(tensor->n_bytes);
    if (!data)
        abort();
    memcpy(data, tensor->data, tensor->n_bytes);
    if (is(tensor->name, edit->nan_vector)) {
        const float nan_value = NAN;
        memcpy(data, &nan_value, sizeof nan_value);
    }
    must(glint_gguf_writer_data(writer, data, tensor->n_bytes, &error), &error);
    free(data);
}

void drafter_edit_write(const char *path, const struct drafter_edit *given) {
    static const struct drafter_edit none;
    const struct drafter_edit *edit = given ? given : &none;
    struct glint_error error = {0};
    struct glint_gguf_writer *writer;
    struct glint_gguf *gguf;
    const float extra[EXTRA_WIDTH] = {0};
    const uint64_t extra_dims[1] = {EXTRA_WIDTH};
    uint32_t seed = 1;
    must(glint_gguf_open(&gguf, edit->source ? edit->source : DEMO_DRAFTER, &error), &error);
    must(glint_gguf_writer_open(&writer, &error), &error);
    for (size_t i = 0; i < gguf->n_kvs; i++)
        put_key(writer, &gguf->kvs[i], edit);
    if (edit->extra_key)
        glint_gguf_put_u32(writer, edit->extra_key, 1);
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct glint_gguf_tensor *tensor = &gguf->tensors[i];
        if (!is(tensor->name, edit->drop_tensor))
            glint_gguf_add_tensor(writer, tensor->name, tensor->type_id, tensor->n_dims,
                                  tensor->dims);
    }
    if (edit->extra_tensor)
        glint_gguf_add_tensor(writer, edit->extra_tensor, 0, 1, extra_dims);
    must(glint_gguf_writer_begin(writer, path, &error), &error);
    for (size_t i = 0; i < gguf->n_tensors; i++)
        if (!is(gguf->tensors[i].name, edit->drop_tensor))
            put_data(writer, &gguf->tensors[i], edit, &seed);
    if (edit->extra_tensor)
        must(glint_gguf_writer_data(writer, extra, sizeof extra, &error), &error);
    must(glint_gguf_writer_commit(&writer, &error), &error);
    glint_gguf_close(&gguf);
}
