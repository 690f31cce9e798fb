// SPDX-License-Identifier: Apache-2.0
// model.c — which tensor of a text model goes to which slot (bind.h does the taking).
#include "model/model.h"

#include "base/alloc.h"
#include "model/bind.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { N_LAYER_VECTOR = 6, N_LAYER_MATRIX = 8 };

// model.md B.6 item 2: the norms of Q and K are constants in every real file.
static enum glint_status check_constant(const struct glint_binder *binder, const char *name,
                                        const float *host, int n, float expected) {
    for (int i = 0; i < n; i++)
        if (host[i] != expected)
            return glint_fail(binder->err, GLINT_E_UNSUPPORTED,
                              "%s: tensor %s: value %d is %g, expected the constant %g (learned "
                              "query and key norms are another model)",
                              binder->gguf->path, name, i, (double)host[i], (double)expected);
    return GLINT_OK;
}

static enum glint_status bind_layer(struct glint_model *model, struct glint_binder *binder, int l) {
    const struct glint_config *config = &model->config;
    struct glint_layer *layer = &model->layer[l];
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
    char name[GLINT_BIND_NAME];
    for (int i = 0; i < N_LAYER_MATRIX; i++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", l, matrices[i].name);
        GLINT_TRY(glint_bind_matrix(binder, name, matrices[i].n_col, matrices[i].n_row,
                                    matrices[i].slot));
    }
    for (int i = 0; i < N_LAYER_VECTOR; i++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", l, vectors[i].name);
        GLINT_TRY(glint_bind_vector(binder, name, vectors[i].n, vectors[i].slot));
    }
    snprintf(name, sizeof name, "blk.%d.attn_q_norm.weight", l);
    float first = glint_bind_host(binder, model->layer[0].q_norm)[0];
    GLINT_TRY(
        check_constant(binder, name, glint_bind_host(binder, layer->q_norm), (int)dim, first));
    snprintf(name, sizeof name, "blk.%d.attn_k_norm.weight", l);
    return check_constant(binder, name, glint_bind_host(binder, layer->k_norm), (int)dim, 1.0f);
}

static enum glint_status bind_all(struct glint_model *model, struct glint_binder *binder) {
    const struct glint_config *config = &model->config;
    int64_t n_vocab = config->n_vocab, width = config->width;
    GLINT_TRY(glint_bind_matrix(binder, "token_embd.weight", width, n_vocab, &model->embed));
    GLINT_TRY(glint_bind_matrix(binder, "output.weight", width, n_vocab, &model->output));
    GLINT_TRY(glint_bind_vector(binder, "output_norm.weight", width, &model->output_norm));
    for (int l = 0; l < config->n_layer; l++)
        GLINT_TRY(bind_layer(model, binder, l));
    glint_bind_inv_freq(binder, config->head_dim, config->rope_base, &model->inv_freq);
    char what[64];
    snprintf(what, sizeof what, "a text model of %d layers", config->n_layer);
    return glint_bind_finish(binder, what);
}

enum glint_status glint_model_open(struct glint_model *model, const struct glint_gguf *gguf,
                                   struct glint_backend *backend, struct glint_error *err) {
    *model = (struct glint_model){.gguf = gguf, .backend = backend};
    GLINT_TRY(glint_config_read(&model->config, gguf, err));
    size_t n_layer = (size_t)model->config.n_layer;
    size_t width = glint_bind_floats(model->config.width);
    size_t dim = glint_bind_floats(model->config.head_dim);
    struct glint_binder binder;
    GLINT_TRY(glint_binder_init(&binder, gguf, backend,
                                n_layer * (4 * width + 2 * dim) + width + dim, err));
    model->layer = glint_alloc(n_layer, sizeof *model->layer);
    enum glint_status status =
        model->layer ? bind_all(model, &binder)
                     : glint_fail(err, GLINT_E_NOMEM, "%s: no memory for the layers", gguf->path);
    status = glint_binder_close(&binder, status, &model->vectors, &model->weight_bytes);
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
    char name[GLINT_BIND_NAME] = "";
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
