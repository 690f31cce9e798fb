// SPDX-License-Identifier: Apache-2.0
// reuse.c — checkpoints of sessions: keeping what was evaluated and going on from it. The cache's
// rows are shared by reference (batch/prefix.h); the drafter's context, if there is one, is copied
// beside them.
#include "engine/engine.h"

#include "base/alloc.h"
#include "engine/session_pictures.h"

#include <string.h>

// A token is its id; a picture's row is its key with this bit, which no id has.
static const uint64_t picture_bit = (uint64_t)1 << 63;

static uint64_t unit_of(int32_t id, uint64_t key) {
    return key != 0 ? key | picture_bit : (uint64_t)id;
}

// ---- keeping ------------------------------------------------------------------------------------

// The drafter's contexts kept take no more than the memory plan has for them. False when this one
// cannot be had.
static bool make_room(struct glint_engine *engine, size_t n_bytes) {
    int n_checkpoint = engine->params.n_checkpoint > 0 ? engine->params.n_checkpoint : 0;
    uint64_t one = glint_draft_context_bytes(engine->draft, engine->n_context);
    uint64_t most = (uint64_t)n_checkpoint * one;
    while (n_bytes <= most && glint_prefix_more_bytes(engine->prefix) + n_bytes > most)
        glint_prefix_evict(engine->prefix);
    return n_bytes <= most;
}

static enum glint_status keep_context(struct glint_session *session,
                                      struct glint_checkpoint *checkpoint,
                                      struct glint_error *err) {
    struct glint_draft *draft = session->engine->draft;
    int length = checkpoint->hold.length;
    checkpoint->n_more = glint_draft_context_bytes(draft, length);
    checkpoint->more = glint_alloc(1, checkpoint->n_more);
    if (!checkpoint->more)
        return glint_fail(err, GLINT_E_NOMEM, "session: no memory for the drafter's context");
    return glint_draft_save(draft, session->slot, length, session->length, checkpoint->more, err);
}

enum glint_status glint_session_keep(struct glint_session *session, int length,
                                     struct glint_error *err) {
    struct glint_engine *engine = session->engine;
    struct glint_draft *draft = engine->draft;
    GLINT_REQUIRE(length > 0 && length <= session->length, err);
    if (!glint_kv_can_truncate(engine->kv, session->slot, length))
        return glint_fail(err, GLINT_E_LIMIT,
                          "cannot keep %d of %d tokens: sliding layers hold positions from %d on",
                          length, session->length, glint_kv_ring_begin(engine->kv, session->slot));
    if (!engine->prefix || (draft && !make_room(engine, glint_draft_context_bytes(draft, length))))
        return GLINT_OK;
    for (int i = 0; i < length; i++)
        engine->units[i] = unit_of(session->ids[i], session->keys ? session->keys[i] : 0);
    struct glint_prefix_text text = {session->group, engine->units, length};
    struct glint_checkpoint *checkpoint;
    GLINT_TRY(glint_prefix_keep(engine->prefix, session->slot, &text, &checkpoint, err));
    if (!draft || checkpoint->more)
        return GLINT_OK;
    enum glint_status status = keep_context(session, checkpoint, err);
    if (status != GLINT_OK)
        glint_prefix_drop(engine->prefix, checkpoint);
    return status;
}

// ---- going on -----------------------------------------------------------------------------------

// The session, which is empty, becomes the first n tokens of ids, from the checkpoint.
static enum glint_status adopt(struct glint_session *session,
                               const struct glint_checkpoint *checkpoint, const int32_t *ids, int n,
                               struct glint_error *err) {
    struct glint_engine *engine = session->engine;
    if (engine->draft)
        GLINT_TRY(glint_draft_restore(engine->draft, session->slot, checkpoint->hold.length, n,
                                      checkpoint->more, err));
    glint_kv_adopt(engine->kv, session->slot, &checkpoint->hold, n);
    memcpy(session->ids, ids, (size_t)n * sizeof *ids);
    struct glint_picture_walk walk = glint_picture_walk_at(session, 0);
    for (int i = 0; session->keys && i < n; i++) {
        glint_picture_walk_key(&walk, ids[i]);
        session->keys[i] = walk.key;
    }
    session->length = n;
    return GLINT_OK;
}

static void describe(const struct glint_session *session, const struct glint_prefix_match *match,
                     struct glint_resumed *resumed) {
    const struct glint_prefix *prefix = session->engine->prefix;
    resumed->n_common = match->n_common;
    resumed->n_forgotten = match->n_forgotten;
    if (!match->closest)
        return;
    int length = match->closest->hold.length;
    for (int i = match->n_common; i < length && resumed->n_ahead < GLINT_RESUMED_AHEAD; i++) {
        uint64_t unit = glint_prefix_unit(prefix, match->closest, i);
        resumed->ahead[resumed->n_ahead++] = unit & picture_bit ? -1 : (int32_t)unit;
    }
}

enum glint_status glint_session_resume(struct glint_session *session, uint64_t group,
                                       const int32_t *ids, int n, struct glint_resumed *resumed,
                                       struct glint_error *err) {
    struct glint_engine *engine = session->engine;
    struct glint_prefix_match match = {.checkpoint = NULL};
    *resumed = (struct glint_resumed){0};
    if (session->group != group) // what comes next is kept for that group, whatever fails here
        GLINT_TRY(glint_session_truncate(session, 0, err));
    session->group = group;
    GLINT_REQUIRE(n > 0 && n <= engine->n_context, err);
    GLINT_TRY(glint_check_ids(engine, ids, n, err));
    struct glint_picture_walk walk = glint_picture_walk_at(session, 0);
    for (int i = 0; i < n; i++) {
        glint_picture_walk_key(&walk, ids[i]);
        engine->units[i] = unit_of(ids[i], walk.key);
    }
    int own = glint_session_reusable(session, ids, n);
    own = own < n ? own : n - 1; // the last token's logits are wanted
    struct glint_prefix_text text = {group, engine->units, n};
    if (engine->prefix)
        match = glint_prefix_find(engine->prefix, &text, n - 1);
    describe(session, &match, resumed);
    bool by_checkpoint = match.n_kept > own;
    // What is cut to nothing can always be cut.
    GLINT_TRY(glint_session_truncate(session, by_checkpoint ? 0 : own, err));
    resumed->n_kept = own;
    if (by_checkpoint) {
        glint_session_unsee(session);
        resumed->n_kept = 0;
        GLINT_TRY(adopt(session, match.checkpoint, ids, match.n_kept, err));
        resumed->n_kept = match.n_kept;
        resumed->n_checkpoint = match.checkpoint->hold.length;
    }
    if (resumed->n_common < resumed->n_kept)
        resumed->n_common = resumed->n_kept;
    return GLINT_OK;
}

struct glint_reuse_info glint_engine_reuse(const struct glint_engine *engine) {
    struct glint_reuse_info info = {.n_checkpoint = 0};
    if (!engine->prefix)
        return info;
    info.n_checkpoint = glint_prefix_count(engine->prefix);
    info.n_evicted = glint_prefix_evicted(engine->prefix);
    info.bytes = glint_kv_held_bytes(engine->kv) + glint_prefix_more_bytes(engine->prefix);
    return info;
}
