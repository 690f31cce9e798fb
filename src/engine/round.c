// SPDX-License-Identifier: Apache-2.0
// round.c — one token for each of several sessions, and what a drafter adds to that.
//
// A round: the drafter proposes what may follow the token at hand, and one step evaluates the token
// and the proposals. The session holds the token alone; the rows of the proposals lie ahead of it,
// and their logits are kept. When the caller's next token is the next proposal, the session moves
// on by one row without a step. When it is another, the rows ahead are dropped. So every token is
// drawn by the caller, from logits that are a function of the tokens before it, and nobody can tell
// from the text whether there is a drafter.
#include "engine/engine.h"

#include "base/clock.h"

enum glint_status glint_check_ids(const struct glint_engine *engine, const int32_t *ids, int n,
                                  struct glint_error *err) {
    GLINT_REQUIRE(ids, err);
    int n_vocab = engine->model.config.n_vocab;
    for (int i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= n_vocab)
            return glint_fail(err, GLINT_E_ARG,
                              "token %d of the prompt: found id %d, expected 0 to %d", i, ids[i],
                              n_vocab - 1);
    return GLINT_OK;
}

static int n_ahead(const struct glint_session *session) {
    return session->n_round - session->n_taken;
}

// The round is over; `refused`: its next proposal was wrong, not merely unasked.
static void end_round(struct glint_session *session, bool refused) {
    struct glint_engine *engine = session->engine;
    if (session->n_round == 0)
        return;
    glint_pace_learn_round(&session->pace, &engine->pace, session->n_round, session->n_taken,
                           !refused);
    session->n_round = session->n_taken = 0;
}

static void drop_ahead(struct glint_session *session, bool refused) {
    if (n_ahead(session) > 0)
        glint_kv_truncate(session->engine->kv, session->slot, session->length);
    end_round(session, refused);
}

void glint_session_drop_ahead(struct glint_session *session) {
    drop_ahead(session, false);
}

static float *logits_ahead(const struct glint_session *session) {
    size_t n_vocab = (size_t)session->engine->model.config.n_vocab;
    return session->logits + (size_t)(session->i_logits + 1) * n_vocab;
}

static bool was_tried(const struct glint_session *session, int32_t id) {
    if (n_ahead(session) == 0 || session->ids[session->length] != id)
        return false;
    // If not, a step of its own will say what is wrong.
    return glint_all_finite(logits_ahead(session), (size_t)session->engine->model.config.n_vocab);
}

bool glint_session_take(struct glint_session *session, int32_t id) {
    if (!was_tried(session, id))
        return false;
    session->length++;
    session->i_logits++;
    session->n_taken++;
    session->stats.n_accepted++;
    if (session->n_left > 0)
        session->n_left--;
    return true;
}

// ---- a round --------------------------------------------------------------------------------

// Most proposals that could be of use to the session, and that fit.
static int most_proposals(const struct glint_session *session, int n_part) {
    const struct glint_engine *engine = session->engine;
    if (!engine->draft || session->n_draft == 0)
        return 0;
    int most = glint_draft_max(engine->draft);
    int room[] = {engine->n_context - session->length - 1, engine->forward.max_want / n_part - 1,
                  engine->forward.max_rows / n_part - 1,
                  session->n_left < 0 ? most : session->n_left - 2};
    for (size_t i = 0; i < sizeof room / sizeof *room; i++)
        most = room[i] < most ? room[i] : most;
    return most < 0 ? 0 : most;
}

static int count_proposals(struct glint_session *session, int n_part) {
    int most = most_proposals(session, n_part);
    if (session->n_draft >= 0)
        return session->n_draft < most ? session->n_draft : most;
    return glint_pace_choose(&session->pace, &session->engine->pace, most, n_part);
}

// Nothing is of use after a token that ends the turn.
static int until_stop(const struct glint_engine *engine, const int32_t *ids, int n) {
    for (int i = 0; i < n; i++)
        if (glint_vocab_is_stop(engine->vocab, ids[i]))
            return i + 1;
    return n;
}

static enum glint_status propose(struct glint_engine *engine, struct glint_part *parts, int n_part,
                                 struct glint_error *err) {
    enum { TOGETHER = 8 };
    for (int at = 0; at < n_part;) {
        struct glint_draft_ask asks[TOGETHER];
        struct glint_part *asking[TOGETHER];
        int n = 0;
        for (; at < n_part && n < TOGETHER; at++) {
            struct glint_part *part = &parts[at];
            const struct glint_session *session = part->session;
            if (part->n == 0)
                continue;
            GLINT_TRY(glint_draft_catch_up(engine->draft, session->slot, session->length, err));
            asking[n] = part;
            asks[n++] = (struct glint_draft_ask){session->slot, session->length, part->id, part->n,
                                                 part->ids};
        }
        double start = glint_clock_ms();
        if (n > 0)
            GLINT_TRY(glint_draft_propose(engine->draft, asks, n, NULL, err));
        glint_pace_learn_draft(&engine->pace, n, glint_clock_ms() - start);
        for (int i = 0; i < n; i++)
            asking[i]->n = until_stop(engine, asking[i]->ids, asking[i]->n);
    }
    return GLINT_OK;
}

static enum glint_status step(struct glint_engine *engine, const struct glint_part *parts,
                              int n_part, struct glint_error *err) {
    glint_batch_clear(&engine->batch);
    for (int i = 0; i < n_part; i++) {
        const struct glint_part *part = &parts[i];
        int slot = part->session->slot, length = part->session->length;
        glint_batch_add(&engine->batch, slot, length, part->id, true);
        for (int k = 0; k < part->n; k++)
            glint_batch_add(&engine->batch, slot, length + 1 + k, part->ids[k], true);
    }
    double start = glint_clock_ms();
    GLINT_TRY(glint_engine_step(engine, NULL, err));
    glint_pace_learn_step(&engine->pace, engine->batch.n, glint_clock_ms() - start);
    return GLINT_OK;
}

// Rows i_want and after of the step belong to this part.
static enum glint_status take_results(struct glint_part *part, int i_want,
                                      struct glint_error *err) {
    struct glint_session *session = part->session;
    struct glint_engine *engine = session->engine;
    size_t n_vocab = (size_t)engine->model.config.n_vocab;
    session->ids[session->length++] = part->id;
    for (int k = 0; k < part->n; k++)
        session->ids[session->length + k] = part->ids[k];
    session->n_round = part->n;
    session->n_taken = 0;
    session->i_logits = 0;
    session->has_logits = false;
    if (session->n_left > 0)
        session->n_left--;
    if (part->n > 0) {
        session->stats.n_round++;
        session->stats.n_proposed += part->n;
        engine->backend->download(engine->backend, session->logits + n_vocab,
                                  engine->forward.logits + (size_t)(i_want + 1) * n_vocab,
                                  (size_t)part->n * n_vocab * sizeof(float));
    }
    GLINT_TRY(glint_engine_read_logits(engine, i_want, session->logits, err));
    session->has_logits = true;
    return GLINT_OK;
}

// A token for each of n_part sessions that none of them tried ahead.
static enum glint_status round_of(struct glint_engine *engine, struct glint_part *parts, int n_part,
                                  struct glint_error *err) {
    bool drafted = false;
    for (int i = 0; i < n_part; i++) {
        struct glint_session *session = parts[i].session;
        drop_ahead(session, true);
        parts[i].n = count_proposals(session, n_part);
        drafted = drafted || parts[i].n > 0;
    }
    if (drafted)
        GLINT_TRY(propose(engine, parts, n_part, err));
    enum glint_status status = step(engine, parts, n_part, err);
    if (status == GLINT_E_NOMEM && drafted) { // the cache has no room for proposals
        for (int i = 0; i < n_part; i++)
            parts[i].n = 0;
        status = step(engine, parts, n_part, err);
    }
    GLINT_TRY(status);
    for (int i = 0, i_want = 0; i < n_part; i++) {
        GLINT_TRY(take_results(&parts[i], i_want, err));
        i_want += 1 + parts[i].n;
    }
    return GLINT_OK;
}

enum glint_status glint_engine_decode(struct glint_engine *engine,
                                      struct glint_session *const *sessions, const int32_t *ids,
                                      int n, struct glint_error *err) {
    GLINT_REQUIRE(n >= 1 && n <= engine->n_session, err);
    GLINT_TRY(glint_check_ids(engine, ids, n, err));
    int n_part = 0;
    for (int i = 0; i < n; i++) {
        GLINT_REQUIRE(sessions[i]->engine == engine, err);
        for (int j = 0; j < i; j++)
            if (sessions[j] == sessions[i])
                return glint_fail(err, GLINT_E_ARG,
                                  "sessions %d and %d of the step are the same, expected "
                                  "different ones",
                                  j, i);
        if (was_tried(sessions[i], ids[i]))
            continue;
        if (sessions[i]->length >= engine->n_context)
            return glint_fail(err, GLINT_E_LIMIT, "the context of %d tokens is full",
                              engine->n_context);
        engine->parts[n_part++] = (struct glint_part){.session = sessions[i], .id = ids[i]};
    }
    if (n_part > 0)
        GLINT_TRY(round_of(engine, engine->parts, n_part, err));
    for (int i = 0, p = 0; i < n; i++) {
        if (p < n_part && engine->parts[p].session == sessions[i])
            p++;
        else
            glint_session_take(sessions[i], ids[i]);
    }
    return GLINT_OK;
}

// ---- what a caller may set and see ----------------------------------------------------------

enum glint_status glint_session_set_draft(struct glint_session *session, int n_draft,
                                          struct glint_error *err) {
    int most = session->engine->draft ? glint_draft_max(session->engine->draft) : n_draft;
    if (n_draft < -1 || n_draft > most)
        return glint_fail(err, GLINT_E_ARG, "tokens tried ahead: found %d, expected -1 to %d",
                          n_draft, most);
    session->n_draft = n_draft;
    return GLINT_OK;
}

void glint_session_expect(struct glint_session *session, int n) {
    session->n_left = n < 0 ? -1 : n;
}

struct glint_draft_stats glint_session_draft_stats(const struct glint_session *session) {
    return session->stats;
}

struct hidden_tap {
    struct glint_engine *engine;
    const struct glint_proposals *proposals;
};

static void show_hidden(void *context, int k, const float *device_rows, int n) {
    const struct hidden_tap *tap = context;
    struct glint_engine *engine = tap->engine;
    const struct glint_config *config = &glint_draft_drafter(engine->draft)->model.config;
    size_t width = (size_t)config->width;
    for (int i = 0; k == config->n_layer && i < n; i++) {
        engine->backend->download(engine->backend, engine->rows, device_rows + (size_t)i * width,
                                  width * sizeof(float));
        engine->backend->sync(engine->backend, NULL); // a failure is reported after the step
        tap->proposals->on_hidden(tap->proposals->user, i, engine->rows);
    }
}

enum glint_status glint_session_propose(struct glint_session *session,
                                        const struct glint_proposals *proposals,
                                        struct glint_error *err) {
    struct glint_engine *engine = session->engine;
    if (!engine->draft)
        return glint_fail(err, GLINT_E_ARG, "no drafter: open the engine with one");
    if (proposals->n < 1 || proposals->n > glint_draft_max(engine->draft))
        return glint_fail(err, GLINT_E_ARG, "proposals: found %d, expected 1 to %d", proposals->n,
                          glint_draft_max(engine->draft));
    GLINT_TRY(glint_check_ids(engine, &proposals->anchor, 1, err));
    struct glint_draft_ask ask = {session->slot, session->length, proposals->anchor, proposals->n,
                                  proposals->ids};
    struct hidden_tap hidden = {engine, proposals};
    struct glint_tap tap = {.rows = show_hidden, .context = &hidden};
    GLINT_TRY(glint_draft_catch_up(engine->draft, session->slot, session->length, err));
    return glint_draft_propose(engine->draft, &ask, 1, proposals->on_hidden ? &tap : NULL, err);
}
