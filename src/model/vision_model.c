// SPDX-License-Identifier: Apache-2.0
// vision_model.c — which tensor of a vision file goes to which slot (bind.h does the taking).
#include "model/vision_model.h"

#include "base/alloc.h"
#include "model/bind.h"

#include <math.h>
#include <stdio.h>

static enum glint_status bind_norm(struct glint_binder *binder, const char *name, int64_t width,
                                   struct glint_vision_norm *norm) {
    char full[GLINT_BIND_NAME + 8];
    snprintf(full, sizeof full, "%s.weight", name);
    GLINT_TRY(glint_bind_vector(binder, full, width, &norm->gain));
    snprintf(full, sizeof full, "%s.bias", name);
    return glint_bind_vector(binder, full, width, &norm->bias);
}

static enum glint_status bind_layer(struct glint_vision_model *model, struct glint_binder *binder,
                                    int l) {
    struct glint_vision_layer *layer = &model->layer[l];
    int64_t width = model->config.width, n_ff = model->config.n_ff;
    const struct {
        const char *name;
        int64_t n_col, n_row;
        struct glint_vision_linear *slot;
    } linear[] = {
        {"attn_q", width, width, &layer->q}, {"attn_k", width, width, &layer->k},
        {"attn_v", width, width, &layer->v}, {"attn_out", width, width, &layer->o},
        {"ffn_up", width, n_ff, &layer->up}, {"ffn_down", n_ff, width, &layer->down},
    };
    char name[GLINT_BIND_NAME];
    for (size_t i = 0; i < sizeof linear / sizeof *linear; i++) {
        snprintf(name, sizeof name, "v.blk.%d.%s.weight", l, linear[i].name);
        GLINT_TRY(glint_bind_matrix(binder, name, linear[i].n_col, linear[i].n_row,
                                    &linear[i].slot->weight));
        snprintf(name, sizeof name, "v.blk.%d.%s.bias", l, linear[i].name);
        GLINT_TRY(glint_bind_vector(binder, name, linear[i].n_row, &linear[i].slot->bias));
    }
    snprintf(name, sizeof name, "v.blk.%d.ln1", l);
    GLINT_TRY(bind_norm(binder, name, width, &layer->ln1));
    snprintf(name, sizeof name, "v.blk.%d.ln2", l);
    return bind_norm(binder, name, width, &layer->ln2);
}

// The kernel as a matrix over a patch's values: channel, row, column, as the file has them.
static enum glint_status bind_patch(struct glint_vision_model *model, struct glint_binder *binder) {
    const int64_t side = model->config.patch, width = model->config.width;
    const struct glint_gguf_tensor *tensor = NULL;
    GLINT_TRY(glint_bind_find(binder, "v.patch_embd.weight", (int64_t[]){side, side, 3, width}, 4,
                              &tensor));
    model->patch = (struct glint_matrix){.data = tensor->data,
                                         .dtype = (enum glint_dtype)tensor->type_id,
                                         .n_row = width,
                                         .n_col = 3 * side * side};
    model->patch.row_bytes = glint_dtype_bytes(model->patch.dtype, (uint64_t)model->patch.n_col);
    GLINT_TRY(model->backend->bind(model->backend, &model->patch, binder->err));
    if (!model->config.frames)
        return GLINT_OK;
    return glint_bind_matrix(binder, GLINT_VISION_FRAMES_TENSOR, 2 * model->patch.n_col, width,
                             &model->frames);
}

static enum glint_status bind_position(struct glint_vision_model *model,
                                       struct glint_binder *binder) {
    const int64_t places = (int64_t)model->config.side * model->config.side;
    const int64_t width = model->config.width;
    const char *name = "v.position_embd.weight";
    const struct glint_gguf_tensor *tensor = NULL;
    GLINT_TRY(glint_bind_find(binder, name, (int64_t[]){width, places}, 2, &tensor));
    glint_dtype_info(tensor->type_id)
        ->decode(tensor->data, model->position, (size_t)(places * width));
    for (int64_t i = 0; i < places * width; i++)
        if (!isfinite(model->position[i]))
            return glint_fail(binder->err, GLINT_E_FORMAT,
                              "%s: tensor %s: value %lld is %g, expected a finite number",
                              binder->gguf->path, name, (long long)i, (double)model->position[i]);
    return GLINT_OK;
}

static enum glint_status bind_all(struct glint_vision_model *model, struct glint_binder *binder) {
    const struct glint_vision_config *config = &model->config;
    int64_t width = config->width, middle = config->n_adapter;
    GLINT_TRY(bind_patch(model, binder));
    GLINT_TRY(bind_position(model, binder));
    GLINT_TRY(bind_norm(binder, "v.pre_ln", width, &model->pre));
    GLINT_TRY(bind_norm(binder, "v.post_ln", width, &model->post));
    for (int l = 0; l < config->n_layer; l++)
        GLINT_TRY(bind_layer(model, binder, l));
    int64_t merged = GLINT_VISION_MERGE * GLINT_VISION_MERGE * width;
    GLINT_TRY(glint_bind_matrix(binder, "mm.0.weight", merged, middle, &model->adapter[0]));
    GLINT_TRY(glint_bind_matrix(binder, "mm.1.weight", middle, middle, &model->adapter[1]));
    GLINT_TRY(glint_bind_matrix(binder, "mm.2.weight", middle, config->n_text, &model->adapter[2]));
    char what[64];
    snprintf(what, sizeof what, "a vision file of %d layers", config->n_layer);
    return glint_bind_finish(binder, what);
}

enum glint_status glint_vision_model_open(struct glint_vision_model *model,
                                          const struct glint_vision_config *config,
                                          const struct glint_gguf *gguf,
                                          struct glint_backend *backend, struct glint_error *err) {
    *model = (struct glint_vision_model){.config = *config, .gguf = gguf, .backend = backend};
    size_t n_layer = (size_t)config->n_layer, width = glint_bind_floats(config->width);
    size_t of_layer = 9 * width + glint_bind_floats(config->n_ff);
    struct glint_binder binder;
    GLINT_TRY(glint_binder_init(&binder, gguf, backend, n_layer * of_layer + 4 * width, err));
    model->layer = glint_alloc(n_layer, sizeof *model->layer);
    model->position = glint_alloc((size_t)config->side * (size_t)config->side,
                                  (size_t)config->width * sizeof(float));
    enum glint_status status =
        model->layer && model->position
            ? bind_all(model, &binder)
            : glint_fail(err, GLINT_E_NOMEM, "%s: no memory for the layers", gguf->path);
    status = glint_binder_close(&binder, status, &model->vectors, &model->weight_bytes);
    if (status != GLINT_OK)
        glint_vision_model_close(model);
    return status;
}

void glint_vision_model_close(struct glint_vision_model *model) {
    if (model->vectors)
        model->backend->free(model->backend, model->vectors);
    glint_free(model->position);
    glint_free(model->layer);
    *model = (struct glint_vision_model){.config = {0}};
}
