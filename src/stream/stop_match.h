// SPDX-License-Identifier: Apache-2.0
// stop_match.h — finding stop strings in a text that arrives in pieces of any size.
// Withholds only what may still become a match. Time is the number of stop strings a byte.
#ifndef GLINT_STREAM_STOP_MATCH_H
#define GLINT_STREAM_STOP_MATCH_H

#include "base/buffer.h"
#include "base/status.h"

struct glint_stop { // one string, with its failure function
    char *text;     // [n]
    size_t n;
    size_t *fallback; // [n] longest proper border of text[0, i]
    size_t matched;   // bytes of text that the input now ends in
};

struct glint_stop_match {     // all-zero: no strings
    struct glint_stop *stops; // [n_stops], owned
    size_t n_stops;
    struct glint_buffer held; // input not given out yet
};

// Copies the strings; empty ones are ignored.
enum glint_status glint_stop_match_init(struct glint_stop_match *match,
                                        const struct glint_view *stops, size_t n_stops,
                                        struct glint_error *err);
void glint_stop_match_fini(struct glint_stop_match *match);
// Appends to out what is known to stand before any match. True when a match is complete: what came
// before it is in out, and held has the match itself; *n_used bytes of data were looked at.
bool glint_stop_match_put(struct glint_stop_match *match, struct glint_view data, size_t *n_used,
                          struct glint_buffer *out);
// The text ends here: appends what is held and starts over.
void glint_stop_match_flush(struct glint_stop_match *match, struct glint_buffer *out);

#endif
