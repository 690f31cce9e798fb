// SPDX-License-Identifier: Apache-2.0
// session.c — one sequence: what it holds, and evaluating more of it in chunks.
// Invariant: ids[0 .. length) are the tokens held; their rows are committed in the cache, and after
// them those of proposals, if there are any (round.c).
#include "engine/engine.h"

#include "base/alloc.h"
#include "engine/session_pictures.h"

#include <string.h>

enum { SEEN_NOTHING = -1 }; // tokens that the sampler has seen were dropped

enum glint_status glint_session_open(struct glint_session **out, struct glint_engine *engine,
                                     struct glint_error *err) {
    GLINT_REQUIRE(out && engine && engine->backend, err);
    *out = NULL;
    int slot = 0;
    while (slot < engine->n_session && engine->sessions[slot])
        slot++;
    if (slot == engine->n_session)
        return glint_fail(err, GLINT_E_BUSY, "%d sessions are open, the engine's limit",
                          engine->n_session);
    struct glint_session *session = glint_alloc(1, sizeof *session);
    if (session) {
        session->engine = engine;
        session->slot = slot;
        session->drawn = -1;
        session->ids = glint_alloc((size_t)engine->n_context, sizeof(int32_t));
        size_t n_row = engine->draft ? 1 + (size_t)glint_draft_max(engine->draft) : 1;
        session->logits = glint_alloc(n_row * (size_t)engine->model.config.n_vocab, sizeof(float));
        session->n_draft = engine->params.n_draft;
        session->n_left = -1;
    }
    if (!session || !session->ids || !session->logits) {
        glint_session_close(&session);
        return glint_fail(err, GLINT_E_NOMEM, "session: no memory");
    }
    engine->sessions[slot] = session;
    *out = session;
    return GLINT_OK;
}

void glint_session_close(struct glint_session **session_in) {
    struct glint_session *session = *session_in;
    *session_in = NULL;
    if (!session)
        return;
    if (session->engine->sessions[session->slot] == session) {
        glint_kv_truncate(session->engine->kv, session->slot, 0);
        if (session->engine->draft)
            glint_draft_truncate(session->engine->draft, session->slot, 0);
        session->engine->sessions[session->slot] = NULL;
    }
    glint_sampler_close(&session->sampler);
    glint_free(session->ids);
    glint_free(session->keys);
    glint_free(session->pictures);
    glint_free(session->logits);
    glint_free(session);
}

int glint_session_length(const struct glint_session *session) {
    return session->length;
}

const int32_t *glint_session_ids(const struct glint_session *session) {
    return session->ids;
}

static float *logits_of(const struct glint_session *session) {
    size_t n_vocab = (size_t)session->engine->model.config.n_vocab;
    return session->logits + (size_t)session->i_logits * n_vocab;
}

const float *glint_session_logits(const struct glint_session *session) {
    return session->has_logits ? logits_of(session) : NULL;
}

// GLINT_OK when n ids may follow the first `held` tokens. Asked before anything is touched.
static enum glint_status check_prompt(const struct glint_session *session, int held,
                                      const int32_t *ids, int n, struct glint_error *err) {
    const struct glint_engine *engine = session->engine;
    if (n < 1)
        return glint_fail(err, GLINT_E_ARG, "the prompt is empty; expected at least one token");
    if (n > engine->n_context - held)
        return glint_fail(err, GLINT_E_LIMIT,
                          "prompt of %d tokens after %d held: over the context of %d tokens "
                          "(--ctx-size)",
                          n, held, engine->n_context);
    return glint_check_ids(engine, ids, n, err);
}

// Rows of one chunk, handed to the caller one by one.
struct eval_tap {
    struct glint_engine *engine;
    const struct glint_eval *eval;
};

static void tap_rows(void *context, int k, const float *device_rows, int n) {
    struct eval_tap *tap = context;
    struct glint_engine *engine = tap->engine;
    const struct glint_batch *batch = &engine->batch;
    size_t width = (size_t)engine->model.config.width;
    engine->backend->download(engine->backend, engine->rows, device_rows,
                              (size_t)n * width * sizeof(float));
    engine->backend->sync(engine->backend, NULL); // a failure is reported again after the step
    bool final = k == engine->model.config.n_layer;
    for (int i = 0; i < n; i++)
        tap->eval->on_hidden(tap->eval->user, k, batch->position[final ? batch->want[i] : i],
                             engine->rows + (size_t)i * width);
}

static void tap_product(void *context, const struct glint_op_matmul *op) {
    struct eval_tap *tap = context;
    struct glint_backend *backend = tap->engine->backend;
    float *row = tap->engine->rows; // holds the longest
    for (int m = 0; m < op->n_matrix; m++) {
        const char *name = glint_model_matrix_name(&tap->engine->model, op->w[m]);
        int64_t n_col = op->w[m]->n_col;
        for (int i = 0; name && i < op->n; i++) {
            backend->download(backend, row, op->x + i * n_col, (size_t)n_col * sizeof(float));
            backend->sync(backend, NULL); // a failure is reported again after the step
            tap->eval->on_product(tap->eval->user, name, row, (int)n_col);
        }
    }
}

// One chunk of n rows from ids[at]; rows from first_want on want logits.
static enum glint_status eval_chunk(struct glint_session *session, const struct glint_eval *eval,
                                    int at, int n, struct glint_error *err) {
    struct glint_engine *engine = session->engine;
    int length = glint_session_length(session);
    int first_want = eval->on_logits ? eval->n - eval->n_logits : eval->n - 1;
    if (first_want > eval->n - 1)
        first_want = eval->n - 1; // the last row's logits are always kept for the caller
    glint_batch_clear(&engine->batch);
    struct glint_picture_walk walk = glint_picture_walk_at(session, length);
    for (int i = 0; i < n; i++) {
        glint_batch_add(&engine->batch, session->slot, length + i, eval->ids[at + i],
                        at + i >= first_want);
        GLINT_TRY(glint_picture_walk_row(&walk, eval->ids[at + i], &engine->batch.feature[i], err));
    }
    struct eval_tap rows = {engine, eval};
    struct glint_tap tap = {.rows = eval->on_hidden ? tap_rows : NULL,
                            .product = eval->on_product ? tap_product : NULL,
                            .context = &rows};
    GLINT_TRY(glint_engine_step(engine, &tap, err));
    memcpy(session->ids + length, eval->ids + at, (size_t)n * sizeof(int32_t));
    walk = glint_picture_walk_at(session, length);
    for (int i = 0; session->keys && i < n; i++) {
        glint_picture_walk_key(&walk, eval->ids[at + i]);
        session->keys[length + i] = walk.key;
    }
    session->length += n;
    session->has_logits = false;
    session->i_logits = 0;
    for (int i = 0; i < engine->batch.n_want; i++) {
        GLINT_TRY(glint_engine_read_logits(engine, i, session->logits, err));
        int row = engine->batch.want[i];
        if (eval->on_logits && at + row >= eval->n - eval->n_logits)
            eval->on_logits(eval->user, length + row, session->logits);
        session->has_logits = at + row == eval->n - 1;
    }
    return GLINT_OK;
}

// Rows of the next chunk: no more than the engine's step and logits scratch can take.
static int chunk_rows(const struct glint_engine *engine, const struct glint_eval *eval, int at) {
    int n = eval->n - at;
    if (n > engine->n_chunk)
        n = engine->n_chunk;
    if (eval->n_chunk > 0 && n > eval->n_chunk)
        n = eval->n_chunk;
    int first_want = eval->on_logits ? eval->n - eval->n_logits : eval->n - 1;
    int before = first_want > at ? first_want - at : 0; // rows of the chunk that want none
    if (n > before + engine->forward.max_want)
        n = before + engine->forward.max_want;
    return n;
}

enum glint_status glint_session_eval(struct glint_session *session, const struct glint_eval *eval,
                                     struct glint_error *err) {
    struct glint_engine *engine = session->engine;
    const struct glint_engine_params *params = &engine->params;
    GLINT_REQUIRE(eval->n_logits >= 0, err);
    GLINT_TRY(check_prompt(session, glint_session_length(session), eval->ids, eval->n, err));
    glint_session_drop_ahead(session);
    for (int at = 0; at < eval->n;) {
        if (params->cancel && params->cancel(params->user))
            return glint_fail(err, GLINT_E_CANCELLED, "cancelled after %d of %d tokens", at,
                              eval->n);
        int n = chunk_rows(engine, eval, at);
        GLINT_TRY(eval_chunk(session, eval, at, n, err));
        at += n;
        if (params->progress && eval->n > 1)
            params->progress(params->user, at, eval->n);
    }
    return GLINT_OK;
}

void glint_session_unsee(struct glint_session *session) {
    session->n_seen = SEEN_NOTHING;
}

enum glint_status glint_session_truncate(struct glint_session *session, int length,
                                         struct glint_error *err) {
    struct glint_kv *kv = session->engine->kv;
    int held = glint_session_length(session);
    GLINT_REQUIRE(length >= 0 && length <= held, err);
    glint_session_drop_ahead(session);
    if (!glint_kv_can_truncate(kv, session->slot, length))
        return glint_fail(err, GLINT_E_LIMIT,
                          "cannot go back from %d to %d tokens: sliding layers hold positions from "
                          "%d on",
                          held, length, glint_kv_ring_begin(kv, session->slot));
    if (length != held)
        session->has_logits = false;
    if (session->n_seen > length)
        glint_session_unsee(session);
    glint_kv_truncate(kv, session->slot, length);
    if (session->engine->draft)
        glint_draft_truncate(session->engine->draft, session->slot, length);
    if (session->keys)
        memset(session->keys + length, 0, (size_t)(held - length) * sizeof *session->keys);
    session->length = length;
    return GLINT_OK;
}

int glint_session_reusable(const struct glint_session *session, const int32_t *ids, int n) {
    int held = glint_session_length(session), keep = 0;
    struct glint_picture_walk walk = glint_picture_walk_at(session, 0);
    while (keep < held && keep < n && session->ids[keep] == ids[keep]) {
        glint_picture_walk_key(&walk, ids[keep]);
        if (session->keys && session->keys[keep] != walk.key)
            break;
        keep++;
    }
    bool whole = keep == n && keep == held && session->has_logits;
    if (keep == n && !whole)
        keep = n - 1; // the last token's logits are wanted
    if (keep < 0 || !glint_kv_can_truncate(session->engine->kv, session->slot, keep))
        keep = 0;
    return keep;
}

enum glint_status glint_session_sync(struct glint_session *session, const int32_t *ids, int n,
                                     int *n_reused, struct glint_error *err) {
    GLINT_TRY(check_prompt(session, 0, ids, n, err));
    GLINT_TRY(glint_picture_walk_check(session, ids, n, err));
    int keep = glint_session_reusable(session, ids, n);
    bool whole = keep == n;
    if (n_reused)
        *n_reused = keep;
    if (whole)
        return GLINT_OK;
    GLINT_TRY(glint_session_truncate(session, keep, err));
    struct glint_eval eval = {.ids = ids + keep, .n = n - keep};
    return glint_session_eval(session, &eval, err);
}

enum glint_status glint_session_set_sampler(struct glint_session *session,
                                            const struct glint_sampler_options *options,
                                            struct glint_error *err) {
    struct glint_sampler *sampler;
    struct glint_sampler_options wanted = *options;
    if (wanted.repeat_last_n > session->engine->n_context)
        wanted.repeat_last_n = session->engine->n_context; // there never are more tokens
    int32_t n_vocab = session->engine->model.config.n_vocab;
    GLINT_TRY(glint_sampler_open(&sampler, &wanted, n_vocab, err));
    glint_sampler_close(&session->sampler);
    session->sampler = sampler;
    session->n_seen = 0;
    session->drawn = -1;
    return GLINT_OK;
}

enum glint_status glint_session_sample(struct glint_session *session, struct glint_sample *sample,
                                       struct glint_error *err) {
    struct glint_engine *engine = session->engine;
    int length = glint_session_length(session);
    if (!session->has_logits)
        return glint_fail(err, GLINT_E_ARG, "nothing to draw from: evaluate a token first");
    if (!session->sampler) {
        struct glint_sampler_options defaults = glint_sampler_defaults();
        GLINT_TRY(glint_session_set_sampler(session, &defaults, err));
    }
    int n_seen = session->n_seen;
    bool known = n_seen >= 0 && n_seen <= length &&
                 (session->drawn < 0 || session->ids[n_seen - 1] == session->drawn);
    if (!known) { // tokens were dropped or another than the drawn one was taken: count again
        glint_sampler_forget(session->sampler);
        session->n_seen = 0;
    }
    glint_sampler_prompt(session->sampler, session->ids + session->n_seen,
                         (size_t)(length - session->n_seen));
    session->n_seen = length;
    session->drawn = -1;
    const uint32_t *allowed = NULL;
    if (session->constraint)
        GLINT_TRY(glint_constraint_mask(session->constraint, &allowed, err));
    GLINT_TRY(glint_sampler_sample(session->sampler, engine->scratch, logits_of(session), allowed,
                                   sample, err));
    if (session->constraint)
        GLINT_TRY(glint_constraint_accept(session->constraint, sample->id, err));
    glint_sampler_accept(session->sampler, sample->id);
    session->n_seen = length + 1;
    session->drawn = sample->id;
    return GLINT_OK;
}
