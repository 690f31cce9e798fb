// SPDX-License-Identifier: Apache-2.0
// buffer.h — a growing byte string, and the borrowed view of one.
// After the first failed append the buffer is `failed` and further appends do nothing, so a
// writer may append freely and check once at the end.
#ifndef GLINT_BASE_BUFFER_H
#define GLINT_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct glint_view { // borrowed bytes, not terminated
    const char *data;
    size_t n; // bytes
};

struct glint_buffer {
    char *data; // owned; data[n] is 0 whenever data is not NULL
    size_t n;
    size_t capacity;
    bool failed; // an append ran out of memory
};

void glint_buffer_fini(struct glint_buffer *buffer); // all-zero is a valid empty buffer
void glint_buffer_clear(struct glint_buffer *buffer);
void glint_buffer_append(struct glint_buffer *buffer, const void *data, size_t n);
void glint_buffer_append_text(struct glint_buffer *buffer, const char *text);
void glint_buffer_append_char(struct glint_buffer *buffer, char c);
void glint_buffer_printf(struct glint_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Makes room for n more bytes; false (and failed) when out of memory.
bool glint_buffer_reserve(struct glint_buffer *buffer, size_t n);

struct glint_view glint_view_of(const char *text);
bool glint_view_equal(struct glint_view a, struct glint_view b);
bool glint_view_is(struct glint_view view, const char *text);
bool glint_view_starts(struct glint_view view, const char *prefix);

#endif
