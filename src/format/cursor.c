// SPDX-License-Identifier: Apache-2.0
// cursor.c — bounded little-endian reads; assembled byte by byte, so any host order works.
#include "format/cursor.h"

#include <string.h>

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

uint16_t glint_load_u16(const uint8_t *bytes) {
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

uint32_t glint_load_u32(const uint8_t *bytes) {
    return glint_load_u16(bytes) | (uint32_t)glint_load_u16(bytes + 2) << 16;
}

uint64_t glint_load_u64(const uint8_t *bytes) {
    return glint_load_u32(bytes) | (uint64_t)glint_load_u32(bytes + 4) << 32;
}

float glint_load_f32(const uint8_t *bytes) {
    uint32_t bits = glint_load_u32(bytes);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double glint_load_f64(const uint8_t *bytes) {
    uint64_t bits = glint_load_u64(bytes);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
