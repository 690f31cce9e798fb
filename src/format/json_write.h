// SPDX-License-Identifier: Apache-2.0
// json_write.h — JSON text onto a buffer.
// The spelling is Python's json.dumps(ensure_ascii=False): only `"`, `\` and U+0000..001F are
// escaped, numbers keep their digits (integers) or print as the shortest decimal that reads back
// the same. Python style puts a space after `,` and `:`; compact style does not. Failures are
// the buffer's (`out->failed`).
#ifndef GLINT_FORMAT_JSON_WRITE_H
#define GLINT_FORMAT_JSON_WRITE_H

#include "format/json.h"

enum glint_json_style { GLINT_JSON_PYTHON, GLINT_JSON_COMPACT };

// Quotes included. The text must be valid UTF-8 (glint_utf8_repair first if it may not be).
void glint_json_put_string(struct glint_buffer *out, struct glint_view text);
// Python's repr: "1.0", "1e-05", "-0.0"; infinities as Infinity, NaN as NaN (bare: inf, nan).
void glint_json_put_double(struct glint_buffer *out, double value, bool bare);
// A NUMBER node: integers digit by digit ("-0" becomes "0"), others as put_double.
void glint_json_put_number(struct glint_buffer *out, const struct glint_json *number, bool bare);
// Any value with all that is in it.
void glint_json_put_value(struct glint_buffer *out, const struct glint_json *value,
                          enum glint_json_style style);

// Building text piece by piece; commas and colons come by themselves. Inside an object each value
// is preceded by glint_json_key. All-zero plus out and style is a valid start.
struct glint_json_writer {
    struct glint_buffer *out;
    enum glint_json_style style;
    bool follows;   // a value precedes in this container
    bool after_key; // the next value belongs to a key
};

void glint_json_begin_object(struct glint_json_writer *writer);
void glint_json_end_object(struct glint_json_writer *writer);
void glint_json_begin_array(struct glint_json_writer *writer);
void glint_json_end_array(struct glint_json_writer *writer);
void glint_json_key(struct glint_json_writer *writer, const char *key);
void glint_json_key_view(struct glint_json_writer *writer, struct glint_view key);
void glint_json_string(struct glint_json_writer *writer, struct glint_view text);
void glint_json_text(struct glint_json_writer *writer, const char *text);
void glint_json_i64(struct glint_json_writer *writer, int64_t value);
void glint_json_u64(struct glint_json_writer *writer, uint64_t value);
void glint_json_double(struct glint_json_writer *writer, double value); // not finite: null
void glint_json_bool(struct glint_json_writer *writer, bool value);
void glint_json_null(struct glint_json_writer *writer);
void glint_json_value(struct glint_json_writer *writer, const struct glint_json *value);

#endif
