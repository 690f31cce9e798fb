// SPDX-License-Identifier: Apache-2.0
// drafter.c — which tensor of a drafter's file belongs in which slot.
#include "draft/drafter.h"

#include "base/alloc.h"
#include "model/bind.h"

#include <stdio.h>

enum { NAME_BYTES = GLINT_BIND_NAME };

static enum glint_status bind_layer(struct glint_binder *binder, const struct glint_config *config,
                                    struct glint_layer *layer, int l) {
    int64_t width = config->width, n_ff = config->n_ff, dim = config->head_dim;
    int64_t q = config->n_head * dim, k = config->n_head_kv * dim;
    const struct {
        const char *name;
        int64_t n_col, n_row;
        struct glint_matrix *slot;
    } matrices[] = {
        {"attn_q", width, q, &layer->q},
        {"attn_k", width, k, &layer->k},
        {"attn_v", width, k, &layer->v},
        {"attn_output", q, width, &layer->o},
        {"ffn_gate", width, n_ff, &layer->ffn_gate},
        {"ffn_up", width, n_ff, &layer->ffn_up},
        {"ffn_down", n_ff, width, &layer->ffn_down},
    };
    const struct {
        const char *name;
        int64_t n;
        const float **slot;
    } vectors[] = {
        {"attn_norm", width, &layer->attn_norm},
        {"attn_q_norm", dim, &layer->q_norm},
        {"attn_k_norm", dim, &layer->k_norm},
        {"ffn_norm", width, &layer->ffn_norm},
    };
    char name[NAME_BYTES];
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", l, matrices[i].name);
        GLINT_TRY(glint_bind_matrix(binder, name, matrices[i].n_col, matrices[i].n_row,
                                    matrices[i].slot));
    }
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", l, vectors[i].name);
        GLINT_TRY(glint_bind_vector(binder, name, vectors[i].n, vectors[i].slot));
    }
    return GLINT_OK;
}

static enum glint_status bind_all(struct glint_drafter *drafter, struct glint_binder *binder) {
    struct glint_model *model = &drafter->model;
    const struct glint_config *config = &model->config;
    int64_t width = config->width;
    GLINT_TRY(
        glint_bind_matrix(binder, "fc.weight", width * drafter->config.n_tap, width, &drafter->fc));
    GLINT_TRY(glint_bind_vector(binder, "enc.output_norm.weight", width, &drafter->context_norm));
    GLINT_TRY(glint_bind_vector(binder, "output_norm.weight", width, &model->output_norm));
    for (int l = 0; l < config->n_layer; l++)
        GLINT_TRY(bind_layer(binder, config, &model->layer[l], l));
    glint_bind_inv_freq(binder, config->head_dim, config->rope_base, &model->inv_freq);
    char what[NAME_BYTES];
    snprintf(what, sizeof what, "a plain DFlash drafter of %d layers", config->n_layer);
    return glint_bind_finish(binder, what);
}

enum glint_status glint_drafter_open(struct glint_drafter *drafter,
                                     const struct glint_drafter_config *config,
                                     const struct glint_gguf *gguf,
                                     const struct glint_model *target, struct glint_error *err) {
    struct glint_model *model = &drafter->model;
    drafter->config = *config;
    *model = (struct glint_model){.config = config->base,
                                  .gguf = gguf,
                                  .backend = target->backend,
                                  .embed = target->embed,
                                  .output = target->output};
    size_t n_layer = (size_t)config->base.n_layer;
    size_t width = glint_bind_floats(config->base.width);
    size_t dim = glint_bind_floats(config->base.head_dim);
    struct glint_binder binder;
    GLINT_TRY(glint_binder_init(&binder, gguf, target->backend,
                                n_layer * (2 * width + 2 * dim) + 2 * width + dim, err));
    model->layer = glint_alloc(n_layer, sizeof *model->layer);
    enum glint_status status =
        model->layer ? bind_all(drafter, &binder)
                     : glint_fail(err, GLINT_E_NOMEM, "%s: no memory for layers", gguf->path);
    status = glint_binder_close(&binder, status, &model->vectors, &model->weight_bytes);
    if (status != GLINT_OK)
        glint_drafter_close(drafter);
    return status;
}

void glint_drafter_close(struct glint_drafter *drafter) {
    glint_model_close(&drafter->model);
    *drafter = (struct glint_drafter){.fc = {.data = NULL}};
}
