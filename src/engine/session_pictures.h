// SPDX-License-Identifier: Apache-2.0
// session_pictures.h — which picture row stands in which place of a session's sequence; private
// to engine/. A walk goes along the ids of a sequence; each placeholder takes the next row.
#ifndef GLINT_ENGINE_SESSION_PICTURES_H
#define GLINT_ENGINE_SESSION_PICTURES_H

#include "engine/engine.h"

struct glint_picture_walk {
    const struct glint_session *session;
    size_t i_picture; // whose rows come next
    int i_row;        // the next one
    uint64_t key;     // of the place just passed: picture and row, 0 for tokens
};

// Before the first of the ids that follow `length` committed ones.
struct glint_picture_walk glint_picture_walk_at(const struct glint_session *session, int length);
// Passes one place.
void glint_picture_walk_key(struct glint_picture_walk *walk, int32_t id);
// Passes one place; *row is its picture row, or NULL for a token. Runs the tower if need be.
enum glint_status glint_picture_walk_row(struct glint_picture_walk *walk, int32_t id,
                                         const float **row, struct glint_error *err);
// GLINT_E_ARG unless a whole sequence has as many placeholders as its pictures have rows.
enum glint_status glint_picture_walk_check(const struct glint_session *session, const int32_t *ids,
                                           int n, struct glint_error *err);

#endif
