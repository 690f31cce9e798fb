// SPDX-License-Identifier: Apache-2.0
// sink.h — the growing output of a rendering: bytes and the ranges of them that came from the
// caller. Macros, set blocks and filters write to the same sink and take their part back off its
// end as a text, so there is one buffer however deep they nest.
// Invariant: ranges are ascending, disjoint, never empty; two of the same part never touch.
#ifndef GLINT_PROMPT_SINK_H
#define GLINT_PROMPT_SINK_H

#include "prompt/span_string.h"

struct glint_sink {   // all-zero is a valid empty sink
    size_t max_bytes; // 0: 256 MiB
    struct glint_buffer bytes;
    struct glint_byte_range *ranges; // [n_ranges], owned
    size_t n_ranges;
    size_t range_capacity;
    size_t n_closed; // ranges of earlier parts, which later bytes must not lengthen
    bool full;       // no more fits; later writes do nothing
    bool over_limit; // full because of max_bytes, not for lack of memory
};

struct glint_sink_mark {
    size_t n;
    size_t n_ranges;
    size_t n_closed;
};

void glint_sink_fini(struct glint_sink *sink);
void glint_sink_put(struct glint_sink *sink, const char *data, size_t n, enum glint_origin origin);
void glint_sink_put_literal(struct glint_sink *sink, const char *literal);
void glint_sink_put_text(struct glint_sink *sink, const struct glint_string *text);
// Bytes [begin, end) of the text.
void glint_sink_put_part(struct glint_sink *sink, const struct glint_string *text, size_t begin,
                         size_t end);
// Starts a part; it ends with take (the part becomes a text; NULL when full) or drop.
struct glint_sink_mark glint_sink_begin(struct glint_sink *sink);
const struct glint_string *glint_sink_take(struct glint_sink *sink, struct glint_heap *heap,
                                           struct glint_sink_mark mark);
void glint_sink_drop(struct glint_sink *sink, struct glint_sink_mark mark);

#endif
