// SPDX-License-Identifier: Apache-2.0
// span_string.c — sharing wherever possible: a cut shares bytes and ranges, a join grows in place
// when its left side is the newest text of the heap.
#include "prompt/span_string.h"

#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

size_t glint_count_chars(const char *data, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) // every byte that is not a continuation starts a character
        count += ((unsigned char)data[i] & 0xc0u) != 0x80u;
    return count;
}

static struct glint_string *new_text(struct glint_heap *heap, struct glint_view bytes,
                                     size_t n_chars) {
    struct glint_string *text = glint_heap_take(heap, GLINT_HEAP_OBJECTS, 1, sizeof *text);
    if (text)
        *text = (struct glint_string){.data = bytes.data, .n = bytes.n, .n_chars = n_chars};
    return text;
}

const struct glint_string *glint_string_borrow(struct glint_heap *heap, struct glint_view bytes,
                                               enum glint_origin origin) {
    struct glint_string *text = new_text(heap, bytes, glint_count_chars(bytes.data, bytes.n));
    if (!text || origin == GLINT_ORIGIN_TEMPLATE || bytes.n == 0)
        return text;
    struct glint_byte_range *range = glint_heap_take(heap, GLINT_HEAP_ITEMS, 1, sizeof *range);
    if (!range)
        return NULL;
    *range = (struct glint_byte_range){.begin = 0, .end = bytes.n};
    text->ranges = range;
    text->n_ranges = 1;
    return text;
}

const struct glint_string *glint_string_make(struct glint_heap *heap, struct glint_view bytes,
                                             enum glint_origin origin) {
    char *copy = glint_heap_take(heap, GLINT_HEAP_BYTES, bytes.n, 1);
    if (!copy)
        return NULL;
    if (bytes.n != 0)
        memcpy(copy, bytes.data, bytes.n);
    return glint_string_borrow(heap, (struct glint_view){.data = copy, .n = bytes.n}, origin);
}

// The bytes of a followed by those of b.
static const char *join_bytes(struct glint_heap *heap, const struct glint_string *a,
                              const struct glint_string *b) {
    char *tail = glint_heap_extend(heap, GLINT_HEAP_BYTES, a->data + a->n, b->n);
    if (tail) {
        memcpy(tail, b->data, b->n);
        return a->data;
    }
    char *bytes = glint_heap_take(heap, GLINT_HEAP_BYTES, a->n + b->n, 1);
    if (bytes) {
        memcpy(bytes, a->data, a->n);
        memcpy(bytes + a->n, b->data, b->n);
    }
    return bytes;
}

static bool join_ranges(struct glint_heap *heap, const struct glint_string *a,
                        const struct glint_string *b, struct glint_string *joined) {
    size_t n = a->n_ranges;
    joined->ranges = a->ranges;
    joined->n_ranges = n + b->n_ranges;
    if (b->n_ranges == 0)
        return true;
    struct glint_byte_range *tail = NULL;
    if (n != 0)
        tail = glint_heap_extend(heap, GLINT_HEAP_ITEMS, a->ranges + n, b->n_ranges * sizeof *tail);
    if (!tail) {
        struct glint_byte_range *copy =
            glint_heap_take(heap, GLINT_HEAP_ITEMS, joined->n_ranges, sizeof *copy);
        if (!copy)
            return false;
        if (n != 0)
            memcpy(copy, a->ranges, n * sizeof *copy);
        joined->ranges = copy;
        tail = copy + n;
    }
    for (size_t i = 0; i < b->n_ranges; i++) {
        tail[i].begin = a->n + b->ranges[i].begin;
        tail[i].end = a->n + b->ranges[i].end;
    }
    return true;
}

const struct glint_string *glint_string_join(struct glint_heap *heap, const struct glint_string *a,
                                             const struct glint_string *b) {
    if (a->n == 0)
        return b;
    if (b->n == 0)
        return a;
    const char *bytes = join_bytes(heap, a, b);
    if (!bytes)
        return NULL;
    struct glint_string *joined = new_text(
        heap, (struct glint_view){.data = bytes, .n = a->n + b->n}, a->n_chars + b->n_chars);
    return joined && join_ranges(heap, a, b, joined) ? joined : NULL;
}

const struct glint_string *glint_string_cut(struct glint_heap *heap,
                                            const struct glint_string *text, size_t begin,
                                            size_t end) {
    if (begin == 0 && end == text->n)
        return text;
    struct glint_view bytes = {.data = text->data + begin, .n = end - begin};
    struct glint_string *cut = new_text(heap, bytes, glint_count_chars(bytes.data, bytes.n));
    if (!cut)
        return NULL;
    size_t first = 0;
    size_t last = text->n_ranges;
    while (first < last && text->ranges[first].end <= begin)
        first++;
    while (last > first && text->ranges[last - 1].begin >= end)
        last--;
    if (first == last)
        return cut;
    struct glint_byte_range *ranges =
        glint_heap_take(heap, GLINT_HEAP_ITEMS, last - first, sizeof *ranges);
    if (!ranges)
        return NULL;
    for (size_t i = first; i < last; i++) {
        struct glint_byte_range range = text->ranges[i];
        if (range.begin < begin)
            range.begin = begin;
        if (range.end > end)
            range.end = end;
        ranges[i - first] =
            (struct glint_byte_range){.begin = range.begin - begin, .end = range.end - begin};
    }
    cut->ranges = ranges;
    cut->n_ranges = last - first;
    return cut;
}

size_t glint_string_offset(const struct glint_string *text, size_t i) {
    if (text->n_chars == text->n) // ASCII
        return i;
    size_t offset = 0;
    for (size_t left = i; left != 0; left--) {
        offset++;
        while (offset < text->n && ((unsigned char)text->data[offset] & 0xc0u) == 0x80u)
            offset++;
    }
    return offset;
}

size_t glint_string_chars_before(const struct glint_string *text, size_t offset) {
    return text->n_chars == text->n ? offset : glint_count_chars(text->data, offset);
}

struct glint_view glint_string_view(const struct glint_string *text) {
    return (struct glint_view){.data = text->data, .n = text->n};
}

bool glint_string_equal(const struct glint_string *a, const struct glint_string *b) {
    return glint_view_equal(glint_string_view(a), glint_string_view(b));
}

bool glint_string_is(const struct glint_string *text, const char *literal) {
    return glint_view_is(glint_string_view(text), literal);
}

int glint_string_compare(const struct glint_string *a, const struct glint_string *b) {
    size_t n = a->n < b->n ? a->n : b->n;
    int order = n == 0 ? 0 : memcmp(a->data, b->data, n); // UTF-8 orders as its code points do
    if (order != 0)
        return order;
    return a->n < b->n ? -1 : a->n > b->n;
}

size_t glint_string_find(const struct glint_string *text, struct glint_view needle, size_t from) {
    if (from > text->n || needle.n > text->n - from)
        return SIZE_MAX;
    if (needle.n == 0)
        return from;
    const char *end = text->data + (text->n - needle.n) + 1; // one past the last place to look
    const char *at = text->data + from;
    while (at < end && (at = memchr(at, needle.data[0], (size_t)(end - at))) != NULL) {
        if (memcmp(at, needle.data, needle.n) == 0)
            return (size_t)(at - text->data);
        at++;
    }
    return SIZE_MAX;
}

size_t glint_string_find_last(const struct glint_string *text, struct glint_view needle,
                              size_t before) {
    if (needle.n > before)
        return SIZE_MAX;
    for (size_t at = before - needle.n + 1; at-- > 0;) {
        if (needle.n == 0 || memcmp(text->data + at, needle.data, needle.n) == 0)
            return at;
    }
    return SIZE_MAX;
}

bool glint_is_space(uint32_t code) {
    if (code < 0x80)
        return (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x20);
    return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
           code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

size_t glint_leading_space(struct glint_view view) {
    size_t n = 0;
    while (n < view.n) {
        struct glint_utf8_step step = glint_utf8_next(view.data + n, view.n - n);
        if (!step.valid || !glint_is_space(step.code))
            break;
        n += step.n;
    }
    return n;
}

size_t glint_trailing_space(struct glint_view view) {
    size_t end = view.n;
    while (end > 0) {
        size_t start = end - 1;
        while (start > 0 && ((unsigned char)view.data[start] & 0xc0u) == 0x80u)
            start--;
        struct glint_utf8_step step = glint_utf8_next(view.data + start, end - start);
        if (!step.valid || step.n != end - start || !glint_is_space(step.code))
            break;
        end = start;
    }
    return view.n - end;
}
