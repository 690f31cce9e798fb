// SPDX-License-Identifier: Apache-2.0
// quantize_importance.c — reads a whole importance matrix at open, so that find cannot fail late.
// Means are kept as float32; what lacks a partner or is not finite refuses the file.
#include "quantize_importance.h"

#include "base/alloc.h"
#include "format/cursor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct entry {
    const char *name; // "blk.0.attn_q.weight.in_sum2", in the open file
    size_t n_name;    // without the ending
    float *mean;      // [n_col], owned
    uint64_t n_col;
};

struct glint_importance {
    struct glint_gguf *gguf; // keeps the names
    const char *path;        // owned by gguf
    struct entry *entries;   // [n]
    size_t n;
};

// Beyond any activation's square, and small enough that sums over a block stay finite.
static const float max_mean = 1e30f;

static const char ending[] = ".in_sum2";

static bool ends_with(const char *name, const char *end) {
    size_t n = strlen(name), n_end = strlen(end);
    return n > n_end && strcmp(name + n - n_end, end) == 0;
}

// The number of rows summed, of the tensor beside sums.
static enum glint_status read_count(const struct glint_importance *importance,
                                    const struct entry *entry, float *count,
                                    struct glint_error *err) {
    char name[GLINT_GGUF_MAX_NAME + 16];
    snprintf(name, sizeof name, "%.*s.counts", (int)entry->n_name, entry->name);
    const struct glint_gguf_tensor *tensor = glint_gguf_find_tensor(importance->gguf, name);
    if (tensor == NULL)
        return glint_fail(err, GLINT_E_FORMAT, "%s: tensor %s: not found, expected beside %s",
                          importance->path, name, entry->name);
    if (tensor->type_id != 0 || tensor->n_values != 1)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: tensor %s: found %llu values of type %s, expected 1 of F32",
                          importance->path, name, (unsigned long long)tensor->n_values,
                          glint_gguf_block(tensor->type_id)->name);
    *count = glint_load_f32(tensor->data);
    if (!(*count > 0.0f) || !isfinite(*count))
        return glint_fail(err, GLINT_E_FORMAT, "%s: tensor %s: found %g, expected a positive count",
                          importance->path, name, (double)*count);
    return GLINT_OK;
}

static enum glint_status read_entry(struct glint_importance *importance,
                                    const struct glint_gguf_tensor *tensor,
                                    struct glint_error *err) {
    struct entry *entry = &importance->entries[importance->n];
    *entry =
        (struct entry){tensor->name, strlen(tensor->name) - strlen(ending), NULL, tensor->dims[0]};
    if (tensor->type_id != 0 || tensor->n_values != tensor->dims[0])
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: tensor %s: found %llu values of type %s, expected one row of F32",
                          importance->path, tensor->name, (unsigned long long)tensor->n_values,
                          glint_gguf_block(tensor->type_id)->name);
    float count;
    GLINT_TRY(read_count(importance, entry, &count, err));
    entry->mean = glint_alloc((size_t)entry->n_col, sizeof *entry->mean);
    if (entry->mean == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", importance->path);
    importance->n++; // from here on close frees it
    for (uint64_t i = 0; i < entry->n_col; i++) {
        float sum = glint_load_f32(tensor->data + 4 * i);
        if (!(sum >= 0.0f) || !isfinite(sum))
            return glint_fail(err, GLINT_E_FORMAT,
                              "%s: tensor %s: value %llu is %g, expected a finite sum of squares",
                              importance->path, tensor->name, (unsigned long long)i, (double)sum);
        entry->mean[i] = sum / count;
        if (entry->mean[i] > max_mean)
            return glint_fail(err, GLINT_E_FORMAT,
                              "%s: tensor %s: value %llu is %g over %g rows, expected a mean of "
                              "%g at most",
                              importance->path, tensor->name, (unsigned long long)i, (double)sum,
                              (double)count, (double)max_mean);
    }
    return GLINT_OK;
}

static enum glint_status read_all(struct glint_importance *importance, const char *path,
                                  struct glint_error *err) {
    struct glint_view type = {NULL, 0};
    GLINT_TRY(glint_gguf_open(&importance->gguf, path, err));
    importance->path = importance->gguf->path;
    GLINT_TRY(glint_gguf_opt_string(importance->gguf, "general.type", &type, err));
    if (!glint_view_is(type, "imatrix"))
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: general.type: found \"%.*s\", expected \"imatrix\"", path,
                          (int)(type.n < 40 ? type.n : 40), type.data ? type.data : "");
    size_t n_tensors = importance->gguf->n_tensors;
    importance->entries = glint_alloc(n_tensors, sizeof *importance->entries);
    if (importance->entries == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", path);
    for (size_t i = 0; i < n_tensors; i++) {
        const struct glint_gguf_tensor *tensor = &importance->gguf->tensors[i];
        if (ends_with(tensor->name, ending))
            GLINT_TRY(read_entry(importance, tensor, err));
    }
    if (importance->n == 0)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: tensors: found none named *%s, expected an importance matrix", path,
                          ending);
    return GLINT_OK;
}

enum glint_status glint_importance_open(struct glint_importance **out, const char *path,
                                        struct glint_error *err) {
    *out = NULL;
    struct glint_importance *importance = glint_alloc(1, sizeof *importance);
    if (importance == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", path);
    enum glint_status status = read_all(importance, path, err);
    if (status != GLINT_OK)
        glint_importance_close(&importance);
    *out = importance;
    return status;
}

void glint_importance_close(struct glint_importance **importance) {
    if (*importance == NULL)
        return;
    for (size_t i = 0; i < (*importance)->n; i++)
        glint_free((*importance)->entries[i].mean);
    glint_free((*importance)->entries);
    glint_gguf_close(&(*importance)->gguf);
    glint_free(*importance);
    *importance = NULL;
}

enum glint_status glint_importance_find(const struct glint_importance *importance, const char *name,
                                        uint64_t n_col, const float **values,
                                        struct glint_error *err) {
    *values = NULL;
    size_t n_name = strlen(name);
    for (size_t i = 0; i < importance->n; i++) {
        const struct entry *entry = &importance->entries[i];
        if (entry->n_name != n_name || memcmp(entry->name, name, n_name) != 0)
            continue;
        if (entry->n_col != n_col)
            return glint_fail(err, GLINT_E_FORMAT,
                              "%s: tensor %s: found %llu values, expected %llu, the row length of "
                              "%s",
                              importance->path, entry->name, (unsigned long long)entry->n_col,
                              (unsigned long long)n_col, name);
        *values = entry->mean;
        return GLINT_OK;
    }
    return GLINT_OK;
}

size_t glint_importance_count(const struct glint_importance *importance) {
    return importance->n;
}
