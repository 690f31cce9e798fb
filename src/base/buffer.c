// SPDX-License-Identifier: Apache-2.0
// buffer.c — grows by doubling, so appending n bytes one by one costs O(n) copies.
#include "base/buffer.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

void glint_buffer_fini(struct glint_buffer *buffer) {
    glint_free(buffer->data);
    *buffer = (struct glint_buffer){.data = NULL};
}

void glint_buffer_clear(struct glint_buffer *buffer) {
    buffer->n = 0;
    buffer->failed = false;
    if (buffer->data)
        buffer->data[0] = 0;
}

bool glint_buffer_reserve(struct glint_buffer *buffer, size_t n) {
    if (buffer->failed)
        return false;
    if (buffer->data && n < buffer->capacity - buffer->n) // one byte stays for the final zero
        return true;
    if (n >= SIZE_MAX / 4 - buffer->n) {
        buffer->failed = true;
        return false;
    }
    size_t capacity = buffer->capacity ? 2 * buffer->capacity : FIRST_CAPACITY;
    if (capacity < buffer->n + n + 1)
        capacity = buffer->n + n + 1;
    char *data = glint_realloc(buffer->data, capacity, 1);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    data[buffer->n] = 0;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void glint_buffer_append(struct glint_buffer *buffer, const void *data, size_t n) {
    if (!glint_buffer_reserve(buffer, n))
        return;
    if (n != 0)
        memcpy(buffer->data + buffer->n, data, n);
    buffer->n += n;
    buffer->data[buffer->n] = 0;
}

void glint_buffer_append_text(struct glint_buffer *buffer, const char *text) {
    glint_buffer_append(buffer, text, strlen(text));
}

void glint_buffer_append_char(struct glint_buffer *buffer, char c) {
    glint_buffer_append(buffer, &c, 1);
}

void glint_buffer_printf(struct glint_buffer *buffer, const char *format, ...) {
    va_list args;
    va_list again;
    va_start(args, format);
    va_copy(again, args);
    int wanted = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (wanted < 0) {
        buffer->failed = true;
    } else if (glint_buffer_reserve(buffer, (size_t)wanted)) {
        vsnprintf(buffer->data + buffer->n, (size_t)wanted + 1, format, again);
        buffer->n += (size_t)wanted;
    }
    va_end(again);
}

struct glint_view glint_view_of(const char *text) {
    return (struct glint_view){.data = text, .n = strlen(text)};
}

bool glint_view_equal(struct glint_view a, struct glint_view b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.data, b.data, a.n) == 0);
}

bool glint_view_is(struct glint_view view, const char *text) {
    return glint_view_equal(view, glint_view_of(text));
}

bool glint_view_starts(struct glint_view view, const char *prefix) {
    size_t n = strlen(prefix);
    return view.n >= n && (n == 0 || memcmp(view.data, prefix, n) == 0);
}
