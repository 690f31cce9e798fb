// SPDX-License-Identifier: Apache-2.0
// config.h — the numbers of one Muse Glimmer text model, read from GGUF metadata and
// range-checked one by one (model.md A.1, A.7). Nothing here touches tensor data.
#ifndef GLINT_MODEL_CONFIG_H
#define GLINT_MODEL_CONFIG_H

#include "base/status.h"
#include "format/gguf.h"

#include <stdbool.h>
#include <stdint.h>

enum { GLINT_LAYER_MAX = 256 };

#define GLINT_POST_NORM_EPSILON 1e-8f // part of the function, in no file (model.md A.2)

struct glint_config {
    int n_layer;
    int width;     // of the residual stream
    int n_ff;      // of the feed-forward
    int n_head;    // query heads
    int n_head_kv; // divides n_head
    int head_dim;  // even
    int n_vocab;
    int n_context;
    int window;          // sliding layers see positions p - window + 1 .. p
    float rms_epsilon;   // every norm but the post norms
    float rope_base;     // sliding layers; full layers do not rotate
    float logit_scale;   // before the cap
    float logit_softcap; // logit = cap * tanh(u * scale / cap)
    int block;           // 0; of a drafter the rows that see each other (model.md D.1)
    int n_sliding, n_full;
    bool sliding[GLINT_LAYER_MAX]; // [n_layer]
    int i_class[GLINT_LAYER_MAX];  // number of the layer among those of its class
};

// Fails naming file, key, what was found and what was expected.
enum glint_status glint_config_read(struct glint_config *config, const struct glint_gguf *gguf,
                                    struct glint_error *err);

#endif
