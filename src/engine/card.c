// SPDX-License-Identifier: Apache-2.0
// card.c — what lists of models show of a file, from its header alone.
#include "engine/engine.h"

#include "format/gguf.h"
#include "quant/dtype.h"

#include <stdio.h>

enum { MAX_TYPE = 64 };

struct glint_model_card glint_engine_card(const struct glint_engine *engine) {
    const struct glint_gguf *gguf = engine->files.gguf;
    struct glint_model_card card = {.n_param = 0};
    struct glint_view name = {.data = "", .n = 0};
    uint64_t bytes[MAX_TYPE] = {0};
    uint32_t best = 0;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        uint32_t type = gguf->tensors[i].type_id;
        card.n_param += gguf->tensors[i].n_values;
        if (type >= MAX_TYPE)
            continue; // of no type that the engine opens
        bytes[type] += gguf->tensors[i].n_bytes;
        if (bytes[type] > bytes[best])
            best = type;
    }
    card.n_context = engine->files.config ? engine->files.config->n_context : 0;
    card.weight_type = glint_dtype_public_name(best);
    glint_gguf_opt_string(gguf, "general.architecture", &name, NULL);
    snprintf(card.architecture, sizeof card.architecture, "%.*s", (int)name.n, name.data);
    return card;
}
