// SPDX-License-Identifier: Apache-2.0
// cursor.c — reads that stop at the end of the bytes. The loads themselves are inline in cursor.h:
// converters call them for every value of a model.
#include "format/cursor.h"

struct glint_cursor glint_cursor_of(const void *data, size_t n) {
    return (struct glint_cursor){.data = data, .n = n};
}

size_t glint_cursor_left(const struct glint_cursor *cursor) {
    return cursor->failed ? 0 : cursor->n - cursor->at;
}

const uint8_t *glint_cursor_take(struct glint_cursor *cursor, uint64_t n) {
    if (cursor->failed || n > cursor->n - cursor->at) {
        cursor->failed = true;
        return NULL;
    }
    const uint8_t *bytes = cursor->data + cursor->at;
    cursor->at += (size_t)n;
    return bytes;
}

uint8_t glint_cursor_u8(struct glint_cursor *cursor) {
    const uint8_t *bytes = glint_cursor_take(cursor, 1);
    return bytes ? *bytes : 0;
}

uint16_t glint_cursor_u16(struct glint_cursor *cursor) {
    const uint8_t *bytes = glint_cursor_take(cursor, 2);
    return bytes ? glint_load_u16(bytes) : 0;
}

uint32_t glint_cursor_u32(struct glint_cursor *cursor) {
    const uint8_t *bytes = glint_cursor_take(cursor, 4);
    return bytes ? glint_load_u32(bytes) : 0;
}

uint64_t glint_cursor_u64(struct glint_cursor *cursor) {
    const uint8_t *bytes = glint_cursor_take(cursor, 8);
    return bytes ? glint_load_u64(bytes) : 0;
}
