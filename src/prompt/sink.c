// SPDX-License-Identifier: Apache-2.0
// sink.c — see sink.h.
#include "prompt/sink.h"

#include "base/alloc.h"

#include <string.h>

void glint_sink_fini(struct glint_sink *sink) {
    glint_buffer_fini(&sink->bytes);
    glint_free(sink->ranges);
    *sink = (struct glint_sink){.max_bytes = sink->max_bytes};
}

static void add_range(struct glint_sink *sink, size_t begin, size_t end) {
    if (sink->n_ranges > sink->n_closed && sink->ranges[sink->n_ranges - 1].end == begin) {
        sink->ranges[sink->n_ranges - 1].end = end;
        return;
    }
    if (sink->n_ranges == sink->range_capacity) {
        size_t capacity = sink->range_capacity ? 2 * sink->range_capacity : 16;
        struct glint_byte_range *ranges = glint_realloc(sink->ranges, capacity, sizeof *ranges);
        if (!ranges) {
            sink->full = true;
            return;
        }
        sink->ranges = ranges;
        sink->range_capacity = capacity;
    }
    sink->ranges[sink->n_ranges++] = (struct glint_byte_range){.begin = begin, .end = end};
}

#define DEFAULT_BYTES ((size_t)256 << 20)

static bool put_bytes(struct glint_sink *sink, const char *data, size_t n) {
    if (sink->full)
        return false;
    size_t max_bytes = sink->max_bytes ? sink->max_bytes : DEFAULT_BYTES;
    if (sink->bytes.n > max_bytes || n > max_bytes - sink->bytes.n) {
        sink->full = true;
        sink->over_limit = true;
        return false;
    }
    glint_buffer_append(&sink->bytes, data, n);
    sink->full = sink->bytes.failed;
    return !sink->full;
}

void glint_sink_put(struct glint_sink *sink, const char *data, size_t n, enum glint_origin origin) {
    size_t begin = sink->bytes.n;
    if (put_bytes(sink, data, n) && n != 0 && origin == GLINT_ORIGIN_CALLER)
        add_range(sink, begin, begin + n);
}

void glint_sink_put_literal(struct glint_sink *sink, const char *literal) {
    put_bytes(sink, literal, strlen(literal));
}

void glint_sink_put_part(struct glint_sink *sink, const struct glint_string *text, size_t begin,
                         size_t end) {
    size_t at = sink->bytes.n;
    if (!put_bytes(sink, text->data + begin, end - begin))
        return;
    size_t first = 0; // bisection: the first range that ends behind `begin`
    for (size_t top = text->n_ranges; first < top;) {
        size_t middle = first + (top - first) / 2;
        if (text->ranges[middle].end <= begin)
            first = middle + 1;
        else
            top = middle;
    }
    for (size_t i = first; i < text->n_ranges && text->ranges[i].begin < end; i++) {
        size_t from = text->ranges[i].begin > begin ? text->ranges[i].begin : begin;
        size_t to = text->ranges[i].end < end ? text->ranges[i].end : end;
        if (from < to)
            add_range(sink, at + (from - begin), at + (to - begin));
    }
}

void glint_sink_put_text(struct glint_sink *sink, const struct glint_string *text) {
    glint_sink_put_part(sink, text, 0, text->n);
}

struct glint_sink_mark glint_sink_begin(struct glint_sink *sink) {
    struct glint_sink_mark mark = {
        .n = sink->bytes.n, .n_ranges = sink->n_ranges, .n_closed = sink->n_closed};
    sink->n_closed = sink->n_ranges;
    return mark;
}

void glint_sink_drop(struct glint_sink *sink, struct glint_sink_mark mark) {
    if (sink->bytes.n > mark.n) {
        sink->bytes.n = mark.n;
        sink->bytes.data[mark.n] = 0;
    }
    sink->n_ranges = mark.n_ranges;
    sink->n_closed = mark.n_closed;
}

// Copies the ranges of the part into the text, counted from its first byte.
static bool take_ranges(struct glint_sink *sink, struct glint_heap *heap,
                        struct glint_sink_mark mark, struct glint_string *text) {
    size_t n = sink->n_ranges - mark.n_ranges;
    if (n == 0)
        return true;
    struct glint_byte_range *ranges = glint_heap_take(heap, GLINT_HEAP_ITEMS, n, sizeof *ranges);
    if (!ranges)
        return false;
    for (size_t i = 0; i < n; i++) {
        ranges[i].begin = sink->ranges[mark.n_ranges + i].begin - mark.n;
        ranges[i].end = sink->ranges[mark.n_ranges + i].end - mark.n;
    }
    text->ranges = ranges;
    text->n_ranges = n;
    return true;
}

const struct glint_string *glint_sink_take(struct glint_sink *sink, struct glint_heap *heap,
                                           struct glint_sink_mark mark) {
    size_t n = sink->bytes.n - mark.n;
    struct glint_string *text = glint_heap_take(heap, GLINT_HEAP_OBJECTS, 1, sizeof *text);
    char *bytes = glint_heap_take(heap, GLINT_HEAP_BYTES, n, 1);
    bool ok = !sink->full && text && bytes;
    if (ok && n != 0)
        memcpy(bytes, sink->bytes.data + mark.n, n);
    if (ok)
        *text =
            (struct glint_string){.data = bytes, .n = n, .n_chars = glint_count_chars(bytes, n)};
    ok = ok && take_ranges(sink, heap, mark, text);
    glint_sink_drop(sink, mark);
    return ok ? text : NULL;
}
