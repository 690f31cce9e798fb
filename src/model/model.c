// SPDX-License-Identifier: Apache-2.0
// model.c — binding tensors to slots. Matrices are borrowed from the mapped file in the file's
// own type; vectors (norm gains) are decoded to one float32 device block. A tensor that nobody
// binds is refused: it would mean a different model.
#include "model/model.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64, N_LAYER_VECTOR = 6, N_LAYER_MATRIX = 8 };

// One pass over the file: what has been bound so far, and where the next vector goes.
struct binder {
    struct glint_model *model;
    float *host;    // all vectors, copied to the device at the end
    size_t n_float; // capacity of host
    size_t used;
    size_t n_bound; // tensors taken
    struct glint_error *err;
};

static void print_dims(char *out, size_t n, const struct glint_gguf_tensor *tensor) {
    size_t at = 0;
    for (uint32_t i = 0; i < tensor->n_dims && at < n; i++)
        at += (size_t)snprintf(out + at, n - at, "%s%" PRIu64, i ? ", " : "", tensor->dims[i]);
}

// Finds a tensor and checks its type and shape; n_row 0 means a vector of n_col values.
static enum glint_status find(struct binder *binder, const char *name, int64_t n_col, int64_t n_row,
                              const struct glint_gguf_tensor **out) {
    const struct glint_gguf *gguf = binder->model->gguf;
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
    bool fits = n_row ? tensor->n_dims == 2 && tensor->dims[0] == (uint64_t)n_col &&
                            tensor->dims[1] == (uint64_t)n_row
                      : tensor->n_dims == 1 && tensor->dims[0] == (uint64_t)n_col;
    if (!fits) {
        char dims[100] = "", want[64];
        print_dims(dims, sizeof dims, tensor);
        snprintf(want, sizeof want, n_row ? "%" PRId64 ", %" PRId64 : "%" PRId64, n_col, n_row);
        return glint_fail(binder->err, GLINT_E_FORMAT, "%s: tensor %s: found [%s], expected [%s]",
                          gguf->path, name, dims, want);
    }
    if (n_col % info->block_len != 0)
        return glint_fail(binder->err, GLINT_E_FORMAT,
                          "%s: tensor %s: row length %" PRId64
                          " is not a multiple of %u, the block of %s",
                          gguf->path, name, n_col, info->block_len, info->name);
    binder->n_bound++;
    binder->model->weight_bytes += tensor->n_bytes;
    *out = tensor;
    return GLINT_OK;
}

static enum glint_status bind_matrix(struct binder *binder, const char *name, int64_t n_col,
                                     int64_t n_row, struct glint_matrix *matrix) {
    const struct glint_gguf_tensor *tensor;
    GLINT_TRY(find(binder, name, n_col, n_row, &tensor));
    *matrix = (struct glint_matrix){.data = tensor->data,
                                    .dtype = (enum glint_dtype)tensor->type_id,
                                    .n_row = n_row,
                                    .n_col = n_col};
    matrix->row_bytes = glint_dtype_bytes(matrix->dtype, (uint64_t)n_col);
    return binder->model->backend->bind(binder->model->backend, matrix, binder->err);
}

static enum glint_status bind_vector(struct binder *binder, const char *name, int64_t n,
                                     const float **slot) {
    const struct glint_gguf_tensor *tensor;
    GLINT_TRY(find(binder, name, n, 0, &tensor));
    GLINT_ASSERT(binder->used + (size_t)n <= binder->n_float);
    float *host = binder->host + binder->used;
    glint_dtype_info(tensor->type_id)->decode(tensor->data, host, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(host[i]))
            return glint_fail(binder->err, GLINT_E_FORMAT,
                              "%s: tensor %s: value %" PRId64 " is %g, expected a finite number",
                              binder->model->gguf->path, name, i, (double)host[i]);
    *slot = binder->model->vectors + binder->used;
    binder->used += ((size_t)n + 15) / 16 * 16;
    return GLINT_OK;
}

// model.md B.6 item 2: the norms of Q and K are constants in every real file.
static enum glint_status check_constant(struct binder *binder, const char *name,
                                        const float *device, float expected) {
    const float *host = binder->host + (device - binder->model->vectors);
    for (int i = 0; i < binder->model->config.head_dim; i++)
        if (host[i] != expected)
            return glint_fail(binder->err, GLINT_E_UNSUPPORTED,
                              "%s: tensor %s: value %d is %g, expected the constant %g (learned "
                              "query and key norms are another model)",
                              binder->model->gguf->path, name, i, (double)host[i],
                              (double)expected);
    return GLINT_OK;
}

static enum glint_status bind_layer(struct binder *binder, int l) {
    const struct glint_config *config = &binder->model->config;
    struct glint_layer *layer = &binder->model->layer[l];
    int64_t width = config->width, n_ff = config->n_ff, dim = config->head_dim;
    int64_t q = (int64_t)config->n_head * dim, k = (int64_t)config->n_head_kv * dim;
    const struct {
        const char *name;
        int64_t n_col, n_row;
        struct glint_matrix *slot;
    } matrices[N_LAYER_MATRIX] = {
        {"attn_q", width, q, &layer->q},         {"attn_k", width, k, &layer->k},
        {"attn_v", width, k, &layer->v},         {"attn_gate", width, q, &layer->gate},
        {"attn_output", q, width, &layer->o},    {"ffn_gate", width, n_ff, &layer->ffn_gate},
        {"ffn_up", width, n_ff, &layer->ffn_up}, {"ffn_down", n_ff, width, &layer->ffn_down},
    };
    const struct {
        const char *name;
        int64_t n;
        const float **slot;
    } vectors[N_LAYER_VECTOR] = {
        {"attn_norm", width, &layer->attn_norm},
        {"attn_q_norm", dim, &layer->q_norm},
        {"attn_k_norm", dim, &layer->k_norm},
        {"post_attention_norm", width, &layer->post_attn_norm},
        {"ffn_norm", width, &layer->ffn_norm},
        {"post_ffw_norm", width, &layer->post_ffn_norm},
    };
    char name[NAME_BYTES];
    for (int i = 0; i < N_LAYER_MATRIX; i++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", l, matrices[i].name);
        GLINT_TRY(
            bind_matrix(binder, name, matrices[i].n_col, matrices[i].n_row, matrices[i].slot));
    }
    for (int i = 0; i < N_LAYER_VECTOR; i++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", l, vectors[i].name);
        GLINT_TRY(bind_vector(binder, name, vectors[i].n, vectors[i].slot));
    }
    snprintf(name, sizeof name, "blk.%d.attn_q_norm.weight", l);
    const float *first = binder->host + (binder->model->layer[0].q_norm - binder->model->vectors);
    GLINT_TRY(check_constant(binder, name, layer->q_norm, first[0]));
    snprintf(name, sizeof name, "blk.%d.attn_k_norm.weight", l);
    return check_constant(binder, name, layer->k_norm, 1.0f);
}

// Whether `name` is one that bind_layer or bind_all asks for, for the message about strangers.
static bool is_bound(const struct glint_model *model, const struct glint_gguf_tensor *tensor) {
    const uint8_t *data = tensor->data;
    static const char *const vector_end[N_LAYER_VECTOR] = {
        ".attn_norm.weight",           ".attn_q_norm.weight", ".attn_k_norm.weight",
        ".post_attention_norm.weight", ".ffn_norm.weight",    ".post_ffw_norm.weight"};
    if (data == model->embed.data || data == model->output.data ||
        strcmp(tensor->name, "output_norm.weight") == 0)
        return true;
    int l = -1, end = 0;
    if (sscanf(tensor->name, "blk.%d%n", &l, &end) != 1 || l < 0 || l >= model->config.n_layer)
        return false;
    for (int i = 0; i < N_LAYER_VECTOR; i++)
        if (strcmp(tensor->name + end, vector_end[i]) == 0)
            return true;
    const struct glint_layer *layer = &model->layer[l];
    const struct glint_matrix *matrices[N_LAYER_MATRIX] = {
        &layer->q, &layer->k,        &layer->v,      &layer->gate,
        &layer->o, &layer->ffn_gate, &layer->ffn_up, &layer->ffn_down};
    for (int i = 0; i < N_LAYER_MATRIX; i++)
        if (data == matrices[i]->data)
            return true;
    return false;
}

static enum glint_status refuse_strangers(struct binder *binder) {
    const struct glint_gguf *gguf = binder->model->gguf;
    if (binder->n_bound == gguf->n_tensors)
        return GLINT_OK;
    for (size_t i = 0; i < gguf->n_tensors; i++)
        if (!is_bound(binder->model, &gguf->tensors[i]))
            return glint_fail(binder->err, GLINT_E_UNSUPPORTED,
                              "%s: tensor %s: found, expected none of this name in a text model of "
                              "%d layers",
                              gguf->path, gguf->tensors[i].name, binder->model->config.n_layer);
    return glint_fail(binder->err, GLINT_E_FORMAT, "%s: found %zu tensors, expected %zu",
                      gguf->path, gguf->n_tensors, binder->n_bound);
}

static enum glint_status bind_all(struct binder *binder) {
    struct glint_model *model = binder->model;
    const struct glint_config *config = &model->config;
    int64_t n_vocab = config->n_vocab, width = config->width;
    GLINT_TRY(bind_matrix(binder, "token_embd.weight", width, n_vocab, &model->embed));
    GLINT_TRY(bind_matrix(binder, "output.weight", width, n_vocab, &model->output));
    GLINT_TRY(bind_vector(binder, "output_norm.weight", width, &model->output_norm));
    for (int l = 0; l < config->n_layer; l++)
        GLINT_TRY(bind_layer(binder, l));
    GLINT_TRY(refuse_strangers(binder));
    // float32 throughout, as the official implementation forms it (model.md A.4).
    int half = config->head_dim / 2;
    float *inv_freq = binder->host + binder->used;
    for (int i = 0; i < half; i++)
        inv_freq[i] = 1.0f / powf(config->rope_base, (float)(2 * i) / (float)config->head_dim);
    model->inv_freq = model->vectors + binder->used;
    binder->used += (size_t)half;
    model->backend->upload(model->backend, model->vectors, binder->host,
                           binder->used * sizeof(float));
    return model->backend->sync(model->backend, binder->err);
}

enum glint_status glint_model_open(struct glint_model *model, const struct glint_gguf *gguf,
                                   struct glint_backend *backend, struct glint_error *err) {
    *model = (struct glint_model){.gguf = gguf, .backend = backend};
    GLINT_TRY(glint_config_read(&model->config, gguf, err));
    size_t n_layer = (size_t)model->config.n_layer;
    size_t width = ((size_t)model->config.width + 15) / 16 * 16;
    size_t dim = ((size_t)model->config.head_dim + 15) / 16 * 16;
    struct binder binder = {.model = model, .err = err};
    binder.n_float = n_layer * (4 * width + 2 * dim) + width + dim;
    binder.host = glint_alloc(binder.n_float, sizeof(float));
    model->layer = glint_alloc(n_layer, sizeof *model->layer);
    model->vectors = backend->alloc(backend, binder.n_float * sizeof(float));
    enum glint_status status =
        binder.host && model->layer && model->vectors
            ? bind_all(&binder)
            : glint_fail(err, GLINT_E_NOMEM, "%s: no memory for the norm vectors", gguf->path);
    glint_free(binder.host);
    if (status != GLINT_OK)
        glint_model_close(model);
    return status;
}

const char *glint_model_matrix_name(const struct glint_model *model,
                                    const struct glint_matrix *matrix) {
    static const struct {
        const char *name;
        size_t offset;
    } slots[N_LAYER_MATRIX] = {
        {"attn_q", offsetof(struct glint_layer, q)},
        {"attn_k", offsetof(struct glint_layer, k)},
        {"attn_v", offsetof(struct glint_layer, v)},
        {"attn_gate", offsetof(struct glint_layer, gate)},
        {"attn_output", offsetof(struct glint_layer, o)},
        {"ffn_gate", offsetof(struct glint_layer, ffn_gate)},
        {"ffn_up", offsetof(struct glint_layer, ffn_up)},
        {"ffn_down", offsetof(struct glint_layer, ffn_down)},
    };
    char name[NAME_BYTES] = "";
    if (matrix == &model->output)
        snprintf(name, sizeof name, "output.weight");
    for (int i = 0; i < model->config.n_layer * N_LAYER_MATRIX; i++) {
        const char *layer = (const char *)&model->layer[i / N_LAYER_MATRIX];
        if ((const char *)matrix == layer + slots[i % N_LAYER_MATRIX].offset)
            snprintf(name, sizeof name, "blk.%d.%s.weight", i / N_LAYER_MATRIX,
                     slots[i % N_LAYER_MATRIX].name);
    }
    const struct glint_gguf_tensor *tensor = glint_gguf_find_tensor(model->gguf, name);
    return tensor ? tensor->name : NULL;
}

void glint_model_close(struct glint_model *model) {
    if (model->vectors)
        model->backend->free(model->backend, model->vectors);
    glint_free(model->layer);
    *model = (struct glint_model){0};
}

enum glint_status glint_model_find_nonfinite(const struct glint_model *model,
                                             struct glint_error *err) {
    for (size_t i = 0; i < model->gguf->n_tensors; i++) {
        const struct glint_gguf_tensor *tensor = &model->gguf->tensors[i];
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
                                      model->gguf->path, tensor->name, (at + j) / tensor->dims[0],
                                      (at + j) % tensor->dims[0], (double)values[j]);
        }
    }
    return GLINT_OK;
}
