// SPDX-License-Identifier: Apache-2.0
// stop_match.c — Knuth, Morris and Pratt for each string side by side. The string that is
// complete first wins; of several that end together, the longest.
#include "stream/stop_match.h"

#include "base/alloc.h"

#include <string.h>

static bool init_stop(struct glint_stop *stop, struct glint_view text) {
    stop->text = glint_strndup(text.data, text.n);
    stop->fallback = glint_alloc(text.n, sizeof *stop->fallback);
    stop->n = text.n;
    if (!stop->text || !stop->fallback)
        return false;
    size_t border = 0;
    for (size_t i = 1; i < text.n; i++) {
        while (border != 0 && text.data[i] != text.data[border])
            border = stop->fallback[border - 1];
        border += text.data[i] == text.data[border];
        stop->fallback[i] = border;
    }
    return true;
}

enum glint_status glint_stop_match_init(struct glint_stop_match *match,
                                        const struct glint_view *stops, size_t n_stops,
                                        struct glint_error *err) {
    *match = (struct glint_stop_match){.stops = NULL};
    if (n_stops == 0)
        return GLINT_OK;
    match->stops = glint_alloc(n_stops, sizeof *match->stops);
    bool ok = match->stops != NULL;
    for (size_t i = 0; ok && i < n_stops; i++) {
        if (stops[i].n == 0)
            continue;
        ok = init_stop(&match->stops[match->n_stops], stops[i]);
        match->n_stops++; // also when half made, so that fini releases it
    }
    if (ok)
        return GLINT_OK;
    glint_stop_match_fini(match);
    return glint_fail(err, GLINT_E_NOMEM, "stop strings: no memory");
}

void glint_stop_match_fini(struct glint_stop_match *match) {
    for (size_t i = 0; i < match->n_stops; i++) {
        glint_free(match->stops[i].text);
        glint_free(match->stops[i].fallback);
    }
    glint_free(match->stops);
    glint_buffer_fini(&match->held);
    *match = (struct glint_stop_match){.stops = NULL};
}

static void step(struct glint_stop *stop, char c) {
    if (stop->matched == stop->n)
        stop->matched = stop->fallback[stop->n - 1];
    while (stop->matched != 0 && stop->text[stop->matched] != c)
        stop->matched = stop->fallback[stop->matched - 1];
    stop->matched += stop->text[stop->matched] == c;
}

// Gives out all of held but its last `keep` bytes.
static void release(struct glint_stop_match *match, size_t keep, struct glint_buffer *out) {
    size_t n = match->held.n - keep;
    if (n == 0)
        return;
    glint_buffer_append(out, match->held.data, n);
    memmove(match->held.data, match->held.data + n, keep);
    match->held.n = keep;
    match->held.data[keep] = 0;
}

bool glint_stop_match_put(struct glint_stop_match *match, struct glint_view data, size_t *n_used,
                          struct glint_buffer *out) {
    *n_used = data.n;
    if (match->n_stops == 0) {
        glint_buffer_append(out, data.data, data.n);
        return false;
    }
    size_t longest = 0;
    for (size_t at = 0; at < data.n; at++) {
        size_t complete = 0;
        longest = 0;
        glint_buffer_append_char(&match->held, data.data[at]);
        if (match->held.failed) {
            out->failed = true;
            return false;
        }
        for (size_t i = 0; i < match->n_stops; i++) {
            struct glint_stop *stop = &match->stops[i];
            step(stop, data.data[at]);
            if (stop->matched > longest)
                longest = stop->matched;
            if (stop->matched == stop->n && stop->n > complete)
                complete = stop->n;
        }
        if (complete != 0) {
            release(match, complete, out);
            *n_used = at + 1;
            return true;
        }
    }
    if (data.n != 0)
        release(match, longest, out);
    return false;
}

void glint_stop_match_flush(struct glint_stop_match *match, struct glint_buffer *out) {
    release(match, 0, out);
    for (size_t i = 0; i < match->n_stops; i++)
        match->stops[i].matched = 0;
}
