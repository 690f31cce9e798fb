// SPDX-License-Identifier: Apache-2.0
// bind.c — checks of single tensors; see bind.h.
#include "model/bind.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void release(struct glint_binder *binder) {
    glint_free(binder->host);
    glint_free(binder->taken);
    if (binder->vectors)
        binder->backend->free(binder->backend, binder->vectors);
    *binder = (struct glint_binder){0};
}

enum glint_status glint_binder_init(struct glint_binder *binder, const struct glint_gguf *gguf,
                                    struct glint_backend *backend, size_t n_float,
                                    struct glint_error *err) {
    *binder =
        (struct glint_binder){.gguf = gguf, .backend = backend, .n_float = n_float, .err = err};
    binder->host = glint_alloc(n_float, sizeof(float));
    binder->taken = glint_alloc(gguf->n_tensors, sizeof(bool));
    binder->vectors = backend->alloc(backend, n_float * sizeof(float));
    if (binder->host && binder->taken && binder->vectors)
        return GLINT_OK;
    release(binder);
    return glint_fail(err, GLINT_E_NOMEM, "%s: no memory for the norm vectors", gguf->path);
}

enum glint_status glint_binder_close(struct glint_binder *binder, enum glint_status status,
                                     float **vectors, uint64_t *weight_bytes) {
    *weight_bytes = binder->weight_bytes;
    if (status == GLINT_OK) {
        *vectors = binder->vectors;
        binder->vectors = NULL;
    }
    release(binder);
    return status;
}

static void print_dims(char *out, size_t n, const uint64_t *dims, uint32_t n_dims) {
    size_t at = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < n_dims && at < n; i++)
        at += (size_t)snprintf(out + at, n - at, "%s%" PRIu64, i ? ", " : "", dims[i]);
}

enum glint_status glint_bind_find(struct glint_binder *binder, const char *name,
                                  const int64_t *dims, uint32_t n_dims,
                                  const struct glint_gguf_tensor **out) {
    const struct glint_gguf *gguf = binder->gguf;
    const struct glint_gguf_tensor *tensor = glint_gguf_find_tensor(gguf, name);
    if (!tensor)
        return glint_fail(binder->err, GLINT_E_NOTFOUND, "%s: tensor %s: missing", gguf->path,
                          name);
    const struct glint_dtype_info *info = glint_dtype_info(tensor->type_id);
    if (!info)
        return glint_fail(binder->err, GLINT_E_UNSUPPORTED,
                          "%s: tensor %s: found type %s (%u), expected one of f32, f16, bf16, "
                          "q8_0, q4_0, q4_1, q5_0, q5_1, q2_k ... q6_k",
                          gguf->path, name, glint_dtype_public_name(tensor->type_id),
                          tensor->type_id);
    uint64_t want[GLINT_GGUF_MAX_DIMS];
    bool fits = tensor->n_dims == n_dims;
    for (uint32_t i = 0; i < n_dims; i++) {
        want[i] = (uint64_t)dims[i];
        fits = fits && tensor->dims[i] == want[i];
    }
    if (!fits) {
        char found[100], expected[100];
        print_dims(found, sizeof found, tensor->dims, tensor->n_dims);
        print_dims(expected, sizeof expected, want, n_dims);
        return glint_fail(binder->err, GLINT_E_FORMAT, "%s: tensor %s: found [%s], expected [%s]",
                          gguf->path, name, found, expected);
    }
    if (dims[0] % info->block_len != 0)
        return glint_fail(binder->err, GLINT_E_FORMAT,
                          "%s: tensor %s: row length %" PRId64
                          " is not a multiple of %u, the block of %s",
                          gguf->path, name, dims[0], info->block_len, info->name);
    binder->taken[tensor - gguf->tensors] = true;
    binder->weight_bytes += tensor->n_bytes;
    *out = tensor;
    return GLINT_OK;
}

enum glint_status glint_bind_matrix(struct glint_binder *binder, const char *name, int64_t n_col,
                                    int64_t n_row, struct glint_matrix *matrix) {
    const struct glint_gguf_tensor *tensor = NULL;
    GLINT_TRY(glint_bind_find(binder, name, (int64_t[]){n_col, n_row}, 2, &tensor));
    *matrix = (struct glint_matrix){.data = tensor->data,
                                    .dtype = (enum glint_dtype)tensor->type_id,
                                    .n_row = n_row,
                                    .n_col = n_col};
    matrix->row_bytes = glint_dtype_bytes(matrix->dtype, (uint64_t)n_col);
    return binder->backend->bind(binder->backend, matrix, binder->err);
}

float *glint_bind_room(struct glint_binder *binder, int64_t n, const float **slot) {
    GLINT_ASSERT(binder->used + glint_bind_floats(n) <= binder->n_float);
    float *host = binder->host + binder->used;
    *slot = binder->vectors + binder->used;
    binder->used += glint_bind_floats(n);
    return host;
}

enum glint_status glint_bind_vector(struct glint_binder *binder, const char *name, int64_t n,
                                    const float **slot) {
    const struct glint_gguf_tensor *tensor = NULL;
    GLINT_TRY(glint_bind_find(binder, name, &n, 1, &tensor));
    float *host = glint_bind_room(binder, n, slot);
    glint_dtype_info(tensor->type_id)->decode(tensor->data, host, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(host[i]))
            return glint_fail(binder->err, GLINT_E_FORMAT,
                              "%s: tensor %s: value %" PRId64 " is %g, expected a finite number",
                              binder->gguf->path, name, i, (double)host[i]);
    return GLINT_OK;
}

void glint_bind_inv_freq(struct glint_binder *binder, int head_dim, float rope_base,
                         const float **slot) {
    float *inv_freq = glint_bind_room(binder, head_dim / 2, slot);
    // float32 throughout, as the official implementation forms it (model.md A.4).
    for (int i = 0; i < head_dim / 2; i++)
        inv_freq[i] = 1.0f / powf(rope_base, (float)(2 * i) / (float)head_dim);
}

enum glint_status glint_bind_finish(struct glint_binder *binder, const char *what) {
    for (size_t i = 0; i < binder->gguf->n_tensors; i++)
        if (!binder->taken[i])
            return glint_fail(binder->err, GLINT_E_UNSUPPORTED,
                              "%s: tensor %s: found, expected none of this name in %s",
                              binder->gguf->path, binder->gguf->tensors[i].name, what);
    binder->backend->upload(binder->backend, binder->vectors, binder->host,
                            binder->used * sizeof(float));
    return binder->backend->sync(binder->backend, binder->err);
}

enum glint_status glint_bind_find_nonfinite(const struct glint_gguf *gguf,
                                            struct glint_error *err) {
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct glint_gguf_tensor *tensor = &gguf->tensors[i];
        const struct glint_dtype_info *info = glint_dtype_info(tensor->type_id);
        float values[256];
        size_t step = info->block_len == 1 ? 1 : info->block_len;
        for (uint64_t at = 0; at + step <= tensor->n_values; at += step) {
            info->decode(tensor->data + at / step * info->block_bytes, values, step);
            for (size_t j = 0; j < step; j++)
                if (!isfinite(values[j]))
                    return glint_fail(err, GLINT_E_FORMAT,
                                      "%s: tensor %s: row %" PRIu64 ", column %" PRIu64
                                      " is %g, expected a finite number (damaged file?)",
                                      gguf->path, tensor->name, (at + j) / tensor->dims[0],
                                      (at + j) % tensor->dims[0], (double)values[j]);
        }
    }
    return GLINT_OK;
}
