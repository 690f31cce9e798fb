// SPDX-License-Identifier: Apache-2.0
// cursor.h — reading little-endian values from untrusted bytes.
// The first read past the end marks the cursor `failed`; it and every later read give zero and
// move nothing, so a reader may take several fields and check once. Every length that comes out
// of the bytes must still be compared with glint_cursor_left before memory is sized by it.
#ifndef GLINT_FORMAT_CURSOR_H
#define GLINT_FORMAT_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct glint_cursor {
    const uint8_t *data; // borrowed [n]
    size_t n;            // bytes
    size_t at;           // next byte, <= n
    bool failed;
};

struct glint_cursor glint_cursor_of(const void *data, size_t n);
size_t glint_cursor_left(const struct glint_cursor *cursor); // bytes not yet read; 0 once failed
// n bytes and steps over them; NULL (and failed) when fewer are left. n may be any value.
const uint8_t *glint_cursor_take(struct glint_cursor *cursor, uint64_t n);
uint8_t glint_cursor_u8(struct glint_cursor *cursor);
uint16_t glint_cursor_u16(struct glint_cursor *cursor);
uint32_t glint_cursor_u32(struct glint_cursor *cursor);
uint64_t glint_cursor_u64(struct glint_cursor *cursor);

// Little-endian loads from bytes already known to be there, any alignment, any host order.
static inline uint16_t glint_load_u16(const uint8_t *bytes) {
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint32_t glint_load_u32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static inline uint64_t glint_load_u64(const uint8_t *bytes) {
    return glint_load_u32(bytes) | (uint64_t)glint_load_u32(bytes + 4) << 32;
}

static inline float glint_load_f32(const uint8_t *bytes) {
    uint32_t bits = glint_load_u32(bytes);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double glint_load_f64(const uint8_t *bytes) {
    uint64_t bits = glint_load_u64(bytes);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
