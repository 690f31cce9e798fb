// SPDX-License-Identifier: Apache-2.0
// argument.h — the text of a parameter to the JSON value that its schema allows.
// A parameter that may only be a string is never decoded; whatever fits no type stays a string,
// so nothing the model wrote is lost. Digits of numbers are kept as written.
#ifndef GLINT_STREAM_ARGUMENT_H
#define GLINT_STREAM_ARGUMENT_H

#include "format/json.h"

enum glint_json_type { // bits of a set
    GLINT_TYPE_NULL = 1,
    GLINT_TYPE_BOOLEAN = 2,
    GLINT_TYPE_INTEGER = 4,
    GLINT_TYPE_NUMBER = 8,
    GLINT_TYPE_STRING = 16,
    GLINT_TYPE_ARRAY = 32,
    GLINT_TYPE_OBJECT = 64,
    GLINT_TYPE_ANY = 127,
};

// The types a schema allows; 0 when it says nothing. root resolves local references.
unsigned glint_schema_types(const struct glint_json *schema, const struct glint_json *root);

// Appends the JSON text of the value. schema may be NULL. Failures are the buffer's.
void glint_argument_put(struct glint_buffer *out, struct glint_view text,
                        const struct glint_json *schema, const struct glint_json *root);
// Appends bytes as a JSON string, ill-formed UTF-8 repaired.
void glint_argument_put_string(struct glint_buffer *out, struct glint_view text);
// If the text is a JSON object, appends it; else false and nothing.
bool glint_argument_put_object(struct glint_buffer *out, struct glint_view text);

#endif
