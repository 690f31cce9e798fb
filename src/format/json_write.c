// SPDX-License-Identifier: Apache-2.0
// json_write.c — values to JSON text, with Python's spelling of strings and numbers.
#include "format/json_write.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- strings ------------------------------------------------------------------------------------

static void put_escape(struct glint_buffer *out, unsigned char c) {
    static const char from[] = "\"\\\n\r\t\b\f";
    static const char to[] = "\"\\nrtbf";
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
        char pair[2] = {'\\', to[found - from]};
        glint_buffer_append(out, pair, 2);
    } else {
        glint_buffer_printf(out, "\\u%04x", c);
    }
}

void glint_json_put_string(struct glint_buffer *out, struct glint_view text) {
    glint_buffer_append_char(out, '"');
    size_t start = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        glint_buffer_append(out, text.data + start, i - start);
        put_escape(out, c);
        start = i + 1;
    }
    glint_buffer_append(out, text.data + start, text.n - start);
    glint_buffer_append_char(out, '"');
}

// ---- numbers ------------------------------------------------------------------------------------

enum { MAX_DIGITS = 17 }; // always enough to read a double back

struct decimal {
    char digits[MAX_DIGITS + 1]; // [n], terminated
    int n;
    int exponent; // of the leading digit
};

// value rounded to n digits. Written without relying on the locale's decimal point.
static struct decimal round_to(double value, int n) {
    char text[48];
    struct decimal decimal = {.n = 0};
    snprintf(text, sizeof text, "%.*e", n - 1, value);
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9' && decimal.n < MAX_DIGITS)
            decimal.digits[decimal.n++] = *at;
    decimal.exponent = *at ? atoi(at + 1) : 0;
    return decimal;
}

static bool reads_back(const struct decimal *decimal, double value) {
    char text[48];
    snprintf(text, sizeof text, "%se%d", decimal->digits, decimal->exponent - decimal->n + 1);
    return strtod(text, NULL) == value;
}

// The next larger decimal of the same length, unless it would need another digit.
static bool step_up(struct decimal *decimal) {
    for (int i = decimal->n - 1; i >= 0; i--) {
        if (decimal->digits[i] != '9') {
            decimal->digits[i]++;
            return true;
        }
        decimal->digits[i] = '0';
    }
    return false;
}

// Shortest digits that read back as value (finite, > 0). Normal doubles keep any 15 digits, so
// shorter answers show as trailing zeros. At a power of two the doubles below lie closer than
// those above, and the decimal just above may read back where the nearest one does not.
static struct decimal shortest(double value) {
    int exponent;
    bool power_of_two = frexp(value, &exponent) == 0.5;
    struct decimal decimal;
    for (int n = value < DBL_MIN ? 1 : 15; n < MAX_DIGITS; n++) {
        decimal = round_to(value, n);
        if (reads_back(&decimal, value))
            goto done;
        if (power_of_two && step_up(&decimal) && reads_back(&decimal, value))
            goto done;
    }
    decimal = round_to(value, MAX_DIGITS);
done:
    while (decimal.n > 1 && decimal.digits[decimal.n - 1] == '0')
        decimal.digits[--decimal.n] = 0;
    return decimal;
}

static void put_zeros(struct glint_buffer *out, int n) {
    for (; n > 0; n--)
        glint_buffer_append_char(out, '0');
}

// Digits with the point after the first `before` of them (before may pass n or be below 1).
static void put_positional(struct glint_buffer *out, const struct decimal *decimal, int before) {
    if (before <= 0) {
        glint_buffer_append_text(out, "0.");
        put_zeros(out, -before);
        glint_buffer_append(out, decimal->digits, (size_t)decimal->n);
        return;
    }
    int whole = before < decimal->n ? before : decimal->n;
    glint_buffer_append(out, decimal->digits, (size_t)whole);
    put_zeros(out, before - whole);
    glint_buffer_append_char(out, '.');
    if (whole < decimal->n)
        glint_buffer_append(out, decimal->digits + whole, (size_t)(decimal->n - whole));
    else
        glint_buffer_append_char(out, '0');
}

void glint_json_put_double(struct glint_buffer *out, double value, bool bare) {
    if (isnan(value)) {
        glint_buffer_append_text(out, bare ? "nan" : "NaN");
        return;
    }
    if (signbit(value))
        glint_buffer_append_char(out, '-');
    value = fabs(value);
    if (isinf(value)) {
        glint_buffer_append_text(out, bare ? "inf" : "Infinity");
        return;
    }
    if (value == 0) {
        glint_buffer_append_text(out, "0.0");
        return;
    }
    struct decimal decimal = shortest(value);
    if (decimal.exponent >= -4 && decimal.exponent < 16) {
        put_positional(out, &decimal, decimal.exponent + 1);
        return;
    }
    glint_buffer_append_char(out, decimal.digits[0]);
    if (decimal.n > 1) {
        glint_buffer_append_char(out, '.');
        glint_buffer_append(out, decimal.digits + 1, (size_t)(decimal.n - 1));
    }
    glint_buffer_printf(out, "e%c%02d", decimal.exponent < 0 ? '-' : '+', abs(decimal.exponent));
}

void glint_json_put_number(struct glint_buffer *out, const struct glint_json *number, bool bare) {
    if (!glint_json_is_int(number))
        glint_json_put_double(out, glint_json_parse_double(number->text), bare);
    else if (glint_view_is(number->text, "-0"))
        glint_buffer_append_char(out, '0');
    else
        glint_buffer_append(out, number->text.data, number->text.n);
}

// ---- whole values -------------------------------------------------------------------------------

void glint_json_put_value(struct glint_buffer *out, const struct glint_json *value,
                          enum glint_json_style style) {
    struct glint_json_writer writer = {.out = out, .style = style};
    glint_json_value(&writer, value);
}

// What stands between the previous value and the next one.
static void before_value(struct glint_json_writer *writer) {
    if (writer->follows && !writer->after_key)
        glint_buffer_append_text(writer->out, writer->style == GLINT_JSON_PYTHON ? ", " : ",");
    writer->after_key = false;
    writer->follows = true;
}

static void begin(struct glint_json_writer *writer, char opening) {
    before_value(writer);
    glint_buffer_append_char(writer->out, opening);
    writer->follows = false;
}

static void end(struct glint_json_writer *writer, char closing) {
    glint_buffer_append_char(writer->out, closing);
    writer->follows = true;
}

void glint_json_begin_object(struct glint_json_writer *writer) {
    begin(writer, '{');
}

void glint_json_end_object(struct glint_json_writer *writer) {
    end(writer, '}');
}

void glint_json_begin_array(struct glint_json_writer *writer) {
    begin(writer, '[');
}

void glint_json_end_array(struct glint_json_writer *writer) {
    end(writer, ']');
}

void glint_json_key_view(struct glint_json_writer *writer, struct glint_view key) {
    before_value(writer);
    glint_json_put_string(writer->out, key);
    glint_buffer_append_text(writer->out, writer->style == GLINT_JSON_PYTHON ? ": " : ":");
    writer->after_key = true;
}

void glint_json_key(struct glint_json_writer *writer, const char *key) {
    glint_json_key_view(writer, glint_view_of(key));
}

void glint_json_string(struct glint_json_writer *writer, struct glint_view text) {
    before_value(writer);
    glint_json_put_string(writer->out, text);
}

void glint_json_text(struct glint_json_writer *writer, const char *text) {
    glint_json_string(writer, glint_view_of(text));
}

void glint_json_i64(struct glint_json_writer *writer, int64_t value) {
    before_value(writer);
    glint_buffer_printf(writer->out, "%lld", (long long)value);
}

void glint_json_u64(struct glint_json_writer *writer, uint64_t value) {
    before_value(writer);
    glint_buffer_printf(writer->out, "%llu", (unsigned long long)value);
}

void glint_json_double(struct glint_json_writer *writer, double value) {
    if (!isfinite(value)) {
        glint_json_null(writer);
        return;
    }
    before_value(writer);
    glint_json_put_double(writer->out, value, false);
}

void glint_json_bool(struct glint_json_writer *writer, bool value) {
    before_value(writer);
    glint_buffer_append_text(writer->out, value ? "true" : "false");
}

void glint_json_null(struct glint_json_writer *writer) {
    before_value(writer);
    glint_buffer_append_text(writer->out, "null");
}

// Recursion is bounded by GLINT_JSON_MAX_DEPTH, which the reader enforces.
void glint_json_value(struct glint_json_writer *writer, const struct glint_json *value) {
    bool object = value->kind == GLINT_JSON_OBJECT;
    switch (value->kind) {
    case GLINT_JSON_NULL:
        glint_json_null(writer);
        return;
    case GLINT_JSON_BOOL:
        glint_json_bool(writer, value->truth);
        return;
    case GLINT_JSON_STRING:
        glint_json_string(writer, value->text);
        return;
    case GLINT_JSON_NUMBER:
        before_value(writer);
        glint_json_put_number(writer->out, value, false);
        return;
    case GLINT_JSON_ARRAY:
    case GLINT_JSON_OBJECT:
        break;
    }
    begin(writer, object ? '{' : '[');
    for (const struct glint_json *m = value->child; m; m = m->next) {
        if (object)
            glint_json_key_view(writer, m->key);
        glint_json_value(writer, m);
    }
    end(writer, object ? '}' : ']');
}
