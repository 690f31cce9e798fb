// SPDX-License-Identifier: Apache-2.0
// data_url.c — one pass over the text, three bytes from four letters.
#include "server/data_url.h"

#include <ctype.h>
#include <string.h>

enum { SPACE = -1, PADDING = -2, OTHER = -3 };

static int value_of(unsigned char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    switch (c) {
    case '+':
    case '-':
        return 62;
    case '/':
    case '_':
        return 63;
    case '=':
        return PADDING;
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        return SPACE;
    default:
        return OTHER;
    }
}

static int hex_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// The letter at *at, which is moved past it.
static unsigned char next_letter(struct glint_view text, size_t *at) {
    size_t i = (*at)++;
    if (text.data[i] == '%' && text.n - i > 2) {
        int high = hex_of(text.data[i + 1]), low = hex_of(text.data[i + 2]);
        if (high >= 0 && low >= 0) {
            *at += 2;
            return (unsigned char)(high * 16 + low);
        }
    }
    return (unsigned char)text.data[i];
}

enum glint_status glint_base64_read(struct glint_buffer *out, struct glint_view text,
                                    const char *name, struct glint_error *err) {
    uint32_t bits = 0;
    int n_letter = 0; // of the group at hand
    bool padded = false;
    if (!glint_buffer_reserve(out, text.n / 4 * 3 + 3))
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", name);
    uint8_t *to = (uint8_t *)(void *)out->data + out->n;
    const uint8_t *begin = to;
    for (size_t at = 0; at < text.n;) {
        size_t here = at;
        int value = value_of(next_letter(text, &at));
        if (value == SPACE)
            continue;
        if (value == OTHER || (padded && value != PADDING))
            return glint_fail(err, GLINT_E_FORMAT,
                              "%s: expected base64, found another character at byte %zu", name,
                              here);
        padded = padded || value == PADDING;
        if (padded)
            continue;
        bits = bits << 6 | (uint32_t)value;
        if (++n_letter == 4) {
            *to++ = (uint8_t)(bits >> 16);
            *to++ = (uint8_t)(bits >> 8);
            *to++ = (uint8_t)bits;
            n_letter = 0;
        }
    }
    if (n_letter == 1)
        return glint_fail(err, GLINT_E_FORMAT, "%s: the base64 text ends inside a byte", name);
    if (n_letter == 2)
        *to++ = (uint8_t)(bits >> 4);
    if (n_letter == 3) {
        *to++ = (uint8_t)(bits >> 10);
        *to++ = (uint8_t)(bits >> 2);
    }
    out->n += (size_t)(to - begin);
    out->data[out->n] = 0;
    return GLINT_OK;
}

void glint_base64_write(struct glint_buffer *out, const void *data, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i += 3) {
        unsigned left = n - i < 3 ? (unsigned)(n - i) : 3;
        unsigned b = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                     (left > 2 ? bytes[i + 2] : 0u);
        char four[4] = {digits[b >> 18], digits[b >> 12 & 63], left > 1 ? digits[b >> 6 & 63] : '=',
                        left > 2 ? digits[b & 63] : '='};
        glint_buffer_append(out, four, sizeof four);
    }
}

bool glint_url_has_scheme(struct glint_view url, const char *scheme) {
    size_t n = strlen(scheme);
    if (url.n < n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (tolower((unsigned char)url.data[i]) != scheme[i])
            return false;
    return true;
}

bool glint_data_url_split(struct glint_view url, struct glint_view *text) {
    static const char mark[] = ";base64";
    size_t n_mark = sizeof mark - 1;
    if (!glint_url_has_scheme(url, "data:"))
        return false;
    const char *comma = memchr(url.data, ',', url.n);
    size_t head = comma ? (size_t)(comma - url.data) : 0;
    while (head > 0 && url.data[head - 1] == ' ')
        head--;
    struct glint_view end = {url.data + head - n_mark, n_mark};
    if (head < strlen("data:") + n_mark || !glint_url_has_scheme(end, mark))
        return false;
    *text = (struct glint_view){comma + 1, url.n - (size_t)(comma + 1 - url.data)};
    return true;
}
