// SPDX-License-Identifier: Apache-2.0
// session_pictures.c — see session_pictures.h. A place is known by picture and row, so that a
// sequence in which only a picture has changed is not taken for the one in the cache.
#include "engine/session_pictures.h"

#include "base/alloc.h"
#include "engine/picture.h"

#include <string.h>

static bool is_place(const struct glint_session *session, int32_t id) {
    const struct glint_dialect *dialect = glint_vocab_dialect(session->engine->vocab);
    return session->n_pictures > 0 && id >= 0 && (id == dialect->patch || id == dialect->video);
}

enum glint_status glint_session_set_pictures(struct glint_session *session,
                                             struct glint_picture *const *pictures,
                                             size_t n_pictures, struct glint_error *err) {
    struct glint_engine *engine = session->engine;
    int width = engine->model.config.width;
    for (size_t i = 0; i < n_pictures; i++)
        if (glint_picture_width(pictures[i]) != width)
            return glint_fail(
                err, GLINT_E_ARG,
                "picture %zu: found rows of width %d, expected %d as the model %s has "
                "(a vision file of another model?)",
                i + 1, glint_picture_width(pictures[i]), width, engine->files.gguf->path);
    if (n_pictures > 0 && !session->keys)
        session->keys = glint_alloc((size_t)engine->n_context, sizeof *session->keys);
    struct glint_picture **copy = glint_alloc(n_pictures, sizeof(struct glint_picture *));
    if (!copy || (n_pictures > 0 && !session->keys)) {
        glint_free(copy);
        return glint_fail(err, GLINT_E_NOMEM, "session: no memory for pictures");
    }
    if (n_pictures > 0)
        memcpy(copy, pictures, n_pictures * sizeof(struct glint_picture *));
    glint_free(session->pictures);
    session->pictures = copy;
    session->n_pictures = n_pictures;
    return GLINT_OK;
}

static void pass_row(struct glint_picture_walk *walk) {
    const struct glint_picture *picture = walk->session->pictures[walk->i_picture];
    // Identities are odd, so a key is never 0. In sequences that agree so far, places that are
    // compared have the same i_row.
    walk->key = glint_picture_identity(picture) + 2 * (uint64_t)walk->i_row;
    if (++walk->i_row == glint_picture_info(picture).n_tokens) {
        walk->i_picture++;
        walk->i_row = 0;
    }
}

struct glint_picture_walk glint_picture_walk_at(const struct glint_session *session, int length) {
    struct glint_picture_walk walk = {.session = session};
    for (int i = 0; session->keys && i < length; i++)
        if (session->keys[i] != 0 && walk.i_picture < session->n_pictures)
            pass_row(&walk);
    return walk;
}

void glint_picture_walk_key(struct glint_picture_walk *walk, int32_t id) {
    walk->key = 0;
    if (is_place(walk->session, id) && walk->i_picture < walk->session->n_pictures)
        pass_row(walk);
}

enum glint_status glint_picture_walk_row(struct glint_picture_walk *walk, int32_t id,
                                         const float **row, struct glint_error *err) {
    const struct glint_session *session = walk->session;
    *row = NULL;
    walk->key = 0;
    if (!is_place(session, id))
        return GLINT_OK;
    if (walk->i_picture == session->n_pictures)
        return glint_fail(
            err, GLINT_E_ARG,
            "the prompt has more picture placeholders than its %zu pictures have rows",
            session->n_pictures);
    struct glint_picture *picture = session->pictures[walk->i_picture];
    const float *rows;
    GLINT_TRY(glint_picture_rows(picture, &rows, err));
    *row = rows + (size_t)walk->i_row * (size_t)glint_picture_width(picture);
    pass_row(walk);
    return GLINT_OK;
}

enum glint_status glint_picture_walk_check(const struct glint_session *session, const int32_t *ids,
                                           int n, struct glint_error *err) {
    int64_t places = 0, rows = 0;
    for (int i = 0; i < n; i++)
        places += is_place(session, ids[i]);
    for (size_t i = 0; i < session->n_pictures; i++)
        rows += glint_picture_info(session->pictures[i]).n_tokens;
    if (places == rows)
        return GLINT_OK;
    return glint_fail(
        err, GLINT_E_ARG,
        "the prompt has %lld picture placeholders, expected %lld, the rows of its %zu "
        "pictures",
        (long long)places, (long long)rows, session->n_pictures);
}
