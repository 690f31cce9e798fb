// SPDX-License-Identifier: Apache-2.0
// utf8.c — one decoder; everything else here stands on it.
// A lead byte fixes the length and the range of the second byte (table 3-7), which is what keeps
// out overlong forms, surrogates and values past U+10FFFF.
#include "base/utf8.h"

#include <string.h>

enum { REPLACEMENT = 0xfffd };

// What a lead byte promises.
struct lead {
    unsigned n;             // bytes of the sequence, 0: not a lead byte
    unsigned char low, top; // range of the second byte
    uint32_t bits;          // payload of the lead byte
};

static struct lead lead_of(unsigned char byte) {
    struct lead lead = {.n = 0, .low = 0x80, .top = 0xbf, .bits = 0};
    if (byte < 0x80) {
        lead.n = 1;
        lead.bits = byte;
    } else if (byte >= 0xc2 && byte <= 0xdf) {
        lead.n = 2;
        lead.bits = byte & 0x1fu;
    } else if (byte >= 0xe0 && byte <= 0xef) {
        lead.n = 3;
        lead.bits = byte & 0x0fu;
        if (byte == 0xe0)
            lead.low = 0xa0;
        if (byte == 0xed)
            lead.top = 0x9f;
    } else if (byte >= 0xf0 && byte <= 0xf4) {
        lead.n = 4;
        lead.bits = byte & 0x07u;
        if (byte == 0xf0)
            lead.low = 0x90;
        if (byte == 0xf4)
            lead.top = 0x8f;
    }
    return lead;
}

struct glint_utf8_step glint_utf8_next(const char *data, size_t n) {
    struct glint_utf8_step step = {.code = REPLACEMENT};
    if (n == 0)
        return step;
    struct lead lead = lead_of((unsigned char)data[0]);
    step.n = 1;
    if (lead.n == 0)
        return step;
    uint32_t code = lead.bits;
    while (step.n < lead.n) {
        if (step.n == n) {
            step.more = true;
            return step;
        }
        unsigned char byte = (unsigned char)data[step.n];
        if (byte < lead.low || byte > lead.top)
            return step;
        lead.low = 0x80;
        lead.top = 0xbf;
        code = code << 6 | (byte & 0x3fu);
        step.n++;
    }
    step.code = code;
    step.valid = true;
    return step;
}

unsigned glint_utf8_put(uint32_t code, char out[GLINT_UTF8_MAX]) {
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        code = REPLACEMENT;
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    unsigned n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (unsigned i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80u | (code & 0x3fu));
        code >>= 6;
    }
    out[0] = (char)((0xf00u >> n & 0xf0u) | code);
    return n;
}

bool glint_utf8_is_valid(const char *data, size_t n) {
    for (size_t i = 0; i < n;) {
        uint64_t word; // most text is ASCII: eight bytes at a time
        while (n - i >= sizeof word) {
            memcpy(&word, data + i, sizeof word);
            if (word & 0x8080808080808080u)
                break;
            i += sizeof word;
        }
        if (i == n)
            break;
        struct glint_utf8_step step = glint_utf8_next(data + i, n - i);
        if (!step.valid)
            return false;
        i += step.n;
    }
    return true;
}

size_t glint_utf8_trim(const char *data, size_t n) {
    for (size_t back = 1; back < GLINT_UTF8_MAX && back <= n; back++) {
        if (((unsigned char)data[n - back] & 0xc0) == 0x80)
            continue;
        return glint_utf8_next(data + n - back, back).more ? n - back : n;
    }
    return n;
}

void glint_utf8_copy(char *out, size_t size, const char *text) {
    size_t n = strlen(text);
    n = glint_utf8_trim(text, n < size ? n : size - 1);
    memcpy(out, text, n);
    out[n] = 0;
}

void glint_utf8_repair(struct glint_buffer *out, const char *data, size_t n) {
    size_t done = 0; // bytes already appended; well-formed stretches go over in one piece
    for (size_t i = 0; i < n;) {
        struct glint_utf8_step step = glint_utf8_next(data + i, n - i);
        if (!step.valid) {
            glint_buffer_append(out, data + done, i - done);
            glint_buffer_append(out, "\xef\xbf\xbd", 3);
            done = i + step.n;
        }
        i += step.n;
    }
    glint_buffer_append(out, data + done, n - done);
}
