// SPDX-License-Identifier: Apache-2.0
// engine.h — what an engine and a session own; private to engine/.
#ifndef GLINT_ENGINE_ENGINE_H
#define GLINT_ENGINE_ENGINE_H

#include "batch/batch.h"
#include "batch/prefix.h"
#include "draft/draft.h"
#include "draft/pace.h"
#include "layer/forward.h"
#include "model/model.h"
#include "sample/sampler.h"
#include "token/vocab.h"

// What is known of the files before anything is loaded.
struct glint_engine_files {
    struct glint_gguf *gguf;
    struct glint_config *config;           // NULL when only the vocabulary is wanted
    struct glint_gguf *draft_gguf;         // NULL without a drafter
    struct glint_drafter_config *drafting; // NULL without a drafter
};

struct glint_engine {
    struct glint_engine_params params; // strings borrowed from the caller until open returns
    struct glint_engine_files files;
    struct glint_vocab *vocab;
    struct glint_backend *backend;
    struct glint_model model;
    struct glint_kv *kv;
    struct glint_prefix *prefix; // NULL for a model without full layers
    uint64_t *units;             // [n_context] scratch of reuse.c
    struct glint_forward forward;
    struct glint_batch batch;
    struct glint_memory_plan plan;
    struct glint_draft *draft; // NULL without a drafter
    struct glint_pace_book pace;
    struct glint_part *parts; // [n_session]
    int n_context, n_chunk, n_session;
    float *rows; // host [max_rows, width] or one row of the longest matrix, for taps
    struct glint_sampler_scratch *scratch;
    struct glint_session **sessions;     // [n_session], NULL where free
    struct glint_mask_space *mask_space; // for constraints; NULL before the first
};

// What one session contributes to a step of round.c.
struct glint_part {
    struct glint_session *session;
    int32_t id;
    int n;                       // proposals
    int32_t ids[GLINT_PACE_MAX]; // [n]
};

struct glint_session {
    struct glint_engine *engine;
    int slot;       // sequence number in the cache
    uint64_t group; // whose checkpoints it shares
    int length;     // tokens held
    int32_t *ids;   // [n_context] these, and after them the proposals computed ahead
    uint64_t *keys; // [n_context] of the picture row in a token's place, 0: none; NULL: all 0
    struct glint_picture **pictures; // [n_pictures] of the sequence, borrowed
    size_t n_pictures;
    float *logits;   // [1 + glint_draft_max][n_vocab]
    int i_logits;    // row of logits that belongs to the last token held
    bool has_logits; // it is there
    // Drafting. The cache holds the rows of `length` tokens and of the proposals of the last round
    // that follow them; the logits after each of these stand in the rows after i_logits.
    int n_draft;          // proposals a round; -1: adaptive
    int n_left;           // tokens that the caller still wants, the next included; -1: unknown
    int n_round, n_taken; // proposals of the last round, and those of them taken since
    struct glint_pace pace;
    struct glint_draft_stats stats;
    struct glint_sampler *sampler; // NULL: the defaults
    int n_seen;    // tokens the sampler knows of, a drawn one included; -1: some were dropped
    int32_t drawn; // the last of them if it was drawn, else -1
    struct glint_constraint *constraint; // borrowed; NULL: none
};

// Opens and reads what params name, nothing but headers. Also after a failure the files are the
// caller's to close.
enum glint_status glint_engine_files_open(struct glint_engine_files *files,
                                          const struct glint_engine_params *params,
                                          struct glint_error *err);
void glint_engine_files_close(struct glint_engine_files *files);

// The sizes a memory plan and an open share.
struct glint_engine_sizes {
    struct glint_kv_params kv;
    struct glint_backend_limits limits;
    int n_chunk;
    int max_rows, max_want;
    struct glint_draft_params draft; // with a drafter
};
enum glint_status glint_engine_size(struct glint_engine_sizes *sizes,
                                    const struct glint_engine_files *files,
                                    const struct glint_engine_params *params, int n_context,
                                    struct glint_error *err);

// plan.c
enum glint_status glint_plan_for(struct glint_memory_plan *plan,
                                 const struct glint_engine_files *files,
                                 const struct glint_engine_params *params, int n_context,
                                 struct glint_error *err);
// One line a purpose, for messages. out has n bytes.
void glint_plan_print(const struct glint_memory_plan *plan, char *out, size_t n);

// backends.c: bytes that the device which params name can give to weights, cache and scratch; 0
// when unknown. mapped_bytes: of the files, which count as available where they are used in place.
enum glint_status glint_backend_memory(uint64_t *bytes, const struct glint_engine_params *params,
                                       const struct glint_backend_limits *limits,
                                       uint64_t mapped_bytes, struct glint_error *err);
// backends.c: opens the device that params name, with scratch for these limits.
enum glint_status glint_backend_open(struct glint_backend **backend,
                                     const struct glint_engine_params *params,
                                     const struct glint_backend_limits *limits,
                                     struct glint_error *err);

// round.c: forgets the proposals that were computed ahead and not taken.
void glint_session_drop_ahead(struct glint_session *session);
// Ids in range of the vocabulary.
enum glint_status glint_check_ids(const struct glint_engine *engine, const int32_t *ids, int n,
                                  struct glint_error *err);

// Sampling starts to count anew: other tokens are held than it knows of.
void glint_session_unsee(struct glint_session *session);

// loop.c: runs engine->batch, which is filled: places, computes, commits. tap may be NULL.
// Afterwards the logits of wanted row i are read with glint_engine_read_logits.
enum glint_status glint_engine_step(struct glint_engine *engine, const struct glint_tap *tap,
                                    struct glint_error *err);
// False when one of the n values is an infinity or NaN.
bool glint_all_finite(const float *values, size_t n);
// Copies wanted row i to out [n_vocab] and checks that it is finite.
enum glint_status glint_engine_read_logits(struct glint_engine *engine, int i, float *out,
                                           struct glint_error *err);

#endif
