// SPDX-License-Identifier: Apache-2.0
// json_value.c — looking things up in a JSON tree and turning spellings into numbers.
#include "format/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool glint_json_is(const struct glint_json *value, enum glint_json_kind kind) {
    return value && value->kind == kind;
}

const struct glint_json *glint_json_first(const struct glint_json *value) {
    return value ? value->child : NULL;
}

const struct glint_json *glint_json_get_view(const struct glint_json *object,
                                             struct glint_view key) {
    if (!glint_json_is(object, GLINT_JSON_OBJECT))
        return NULL;
    for (const struct glint_json *m = object->child; m; m = m->next)
        if (glint_view_equal(m->key, key))
            return m;
    return NULL;
}

const struct glint_json *glint_json_get(const struct glint_json *object, const char *key) {
    return glint_json_get_view(object, glint_view_of(key));
}

const struct glint_json *glint_json_at(const struct glint_json *array, uint32_t i) {
    if (!glint_json_is(array, GLINT_JSON_ARRAY) || i >= array->n)
        return NULL;
    const struct glint_json *item = array->child;
    while (i-- > 0)
        item = item->next;
    return item;
}

bool glint_json_is_int(const struct glint_json *value) {
    if (!glint_json_is(value, GLINT_JSON_NUMBER))
        return false;
    for (size_t i = 0; i < value->text.n; i++)
        if (strchr(".eE", value->text.data[i]))
            return false;
    return true;
}

// Digits of an integer spelling; false when it passes UINT64_MAX.
static bool magnitude_of(struct glint_view text, bool *negative, uint64_t *magnitude) {
    size_t i = *negative = text.data[0] == '-';
    uint64_t sum = 0;
    for (; i < text.n; i++) {
        unsigned digit = (unsigned)(text.data[i] - '0');
        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *magnitude = sum;
    return true;
}

// Spellings such as 2.0 and 1e3: exact up to 2^53, refused beyond.
static bool whole_double(const struct glint_json *value, int64_t *out) {
    double number;
    if (!glint_json_to_double(value, &number) || fabs(number) > 0x1p53 || number != floor(number))
        return false;
    *out = (int64_t)number;
    return true;
}

bool glint_json_to_i64(const struct glint_json *value, int64_t *out) {
    bool negative;
    uint64_t magnitude;
    if (!glint_json_is_int(value))
        return whole_double(value, out);
    if (!magnitude_of(value->text, &negative, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return false;
    if (negative)
        *out = magnitude == 0 ? 0 : -(int64_t)(magnitude - 1) - 1;
    else
        *out = (int64_t)magnitude;
    return true;
}

bool glint_json_to_u64(const struct glint_json *value, uint64_t *out) {
    bool negative;
    int64_t whole;
    if (glint_json_is_int(value))
        return magnitude_of(value->text, &negative, out) && (!negative || *out == 0);
    if (!whole_double(value, &whole) || whole < 0)
        return false;
    *out = (uint64_t)whole;
    return true;
}

bool glint_json_to_double(const struct glint_json *value, double *out) {
    if (!glint_json_is(value, GLINT_JSON_NUMBER))
        return false;
    *out = glint_json_parse_double(value->text);
    return true;
}

bool glint_json_to_bool(const struct glint_json *value, bool *out) {
    if (!glint_json_is(value, GLINT_JSON_BOOL))
        return false;
    *out = value->truth;
    return true;
}

bool glint_json_to_string(const struct glint_json *value, struct glint_view *out) {
    if (!glint_json_is(value, GLINT_JSON_STRING))
        return false;
    *out = value->text;
    return true;
}

bool glint_json_is_text(const struct glint_json *value, const char *text) {
    return glint_json_is(value, GLINT_JSON_STRING) && glint_view_is(value->text, text);
}

const char *glint_json_kind_name(const struct glint_json *value) {
    static const char *const names[] = {"null",     "a boolean", "a number",
                                        "a string", "an array",  "an object"};
    return value ? names[value->kind] : "nothing";
}

// ---- decimal to double --------------------------------------------------------------------------

enum {
    DIGITS_MAX = 800,      // 767 significant digits decide any double; the rest only breaks ties
    EXPONENT_MAX = 100000, // far outside the range of double, far inside that of int64_t
};

static int64_t read_exponent(const char *text, size_t n) {
    if (n == 0)
        return 0;
    size_t i = text[0] == '-' || text[0] == '+';
    int64_t sum = 0;
    for (; i < n; i++)
        if (sum < INT64_C(1) << 50)
            sum = sum * 10 + (text[i] - '0');
    return text[0] == '-' ? -sum : sum;
}

// The spelling is rewritten as digits and exponent without a decimal point, because the point
// that strtod expects depends on the locale.
double glint_json_parse_double(struct glint_view lexeme) {
    char text[DIGITS_MAX + 32];
    size_t n = 0;
    int64_t exponent = 0; // of the last digit in text
    bool negative = lexeme.n > 0 && lexeme.data[0] == '-';
    bool after_point = false, dropped = false;
    size_t i = negative;
    for (; i < lexeme.n && (lexeme.data[i] | 0x20) != 'e'; i++) {
        char c = lexeme.data[i];
        if (c == '.') {
            after_point = true;
            continue;
        }
        exponent -= after_point;
        if (n == 0 && c == '0')
            continue;
        if (n < DIGITS_MAX) {
            text[n++] = c;
        } else {
            dropped |= c != '0';
            exponent++;
        }
    }
    if (n == 0)
        return negative ? -0.0 : 0.0;
    if (i < lexeme.n)
        exponent += read_exponent(lexeme.data + i + 1, lexeme.n - i - 1);
    if (dropped) { // anything that is not a tie
        text[n++] = '1';
        exponent--;
    }
    // The value is below 10^(n + exponent) and at least a tenth of that.
    if (exponent + (int64_t)n > EXPONENT_MAX)
        return negative ? -HUGE_VAL : HUGE_VAL;
    if (exponent + (int64_t)n < -EXPONENT_MAX)
        return negative ? -0.0 : 0.0;
    text[n++] = 'e';
    if (exponent < 0)
        text[n++] = '-';
    uint64_t left = (uint64_t)(exponent < 0 ? -exponent : exponent);
    char digits[24];
    int n_digits = 0;
    do
        digits[n_digits++] = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    while (n_digits > 0)
        text[n++] = digits[--n_digits];
    text[n] = 0;
    double value = strtod(text, NULL);
    return negative ? -value : value;
}
