// SPDX-License-Identifier: Apache-2.0
// engine.h — what an engine and a session own; private to engine/.
#ifndef GLINT_ENGINE_ENGINE_H
#define GLINT_ENGINE_ENGINE_H

#include "batch/batch.h"
#include "layer/forward.h"
#include "model/model.h"
#include "sample/sampler.h"
#include "token/vocab.h"

struct glint_engine {
    struct glint_engine_params params; // strings borrowed from the caller until open returns
    struct glint_gguf *gguf;
    struct glint_vocab *vocab;
    struct glint_backend *backend;
    struct glint_model model;
    struct glint_kv *kv;
    struct glint_forward forward;
    struct glint_batch batch;
    struct glint_memory_plan plan;
    int n_context, n_chunk, n_session;
    float *rows; // host [max_rows, width] or one row of the longest matrix, for taps
    struct glint_sampler_scratch *scratch;
    struct glint_session **sessions; // [n_session], NULL where free
};

struct glint_session {
    struct glint_engine *engine;
    int slot;        // sequence number in the cache
    int32_t *ids;    // [n_context] tokens held, the first glint_kv_length are committed
    float *logits;   // [n_vocab]
    bool has_logits; // logits belong to the last token held
    struct glint_sampler *sampler; // NULL: the defaults
    int n_seen;                    // tokens the sampler knows of, drawn ones included
};

// The sizes a memory plan and an open share.
struct glint_engine_sizes {
    struct glint_kv_params kv;
    struct glint_backend_limits limits;
    int max_rows, max_want;
};
enum glint_status glint_engine_size(struct glint_engine_sizes *sizes,
                                    const struct glint_config *config,
                                    const struct glint_engine_params *params, int n_context,
                                    struct glint_error *err);

// plan.c
enum glint_status glint_plan_for(struct glint_memory_plan *plan, const struct glint_gguf *gguf,
                                 const struct glint_config *config,
                                 const struct glint_engine_params *params, int n_context,
                                 struct glint_error *err);
// One line a purpose, for messages. out has n bytes.
void glint_plan_print(const struct glint_memory_plan *plan, char *out, size_t n);

// backends.c: opens the device that params name, with scratch for these limits.
enum glint_status glint_backend_open(struct glint_backend **backend,
                                     const struct glint_engine_params *params,
                                     const struct glint_backend_limits *limits,
                                     struct glint_error *err);

// loop.c: runs engine->batch, which is filled: places, computes, commits. tap may be NULL.
// Afterwards the logits of wanted row i are read with glint_engine_read_logits.
enum glint_status glint_engine_step(struct glint_engine *engine, const struct glint_tap *tap,
                                    struct glint_error *err);
// Copies wanted row i to out [n_vocab] and checks that it is finite.
enum glint_status glint_engine_read_logits(struct glint_engine *engine, int i, float *out,
                                           struct glint_error *err);

#endif
