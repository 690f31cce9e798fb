// SPDX-License-Identifier: Apache-2.0
// request_field.h — reading the fields of a request's JSON object, with refusals that name them.
// Absent and null are the same: the caller's default stays. The first fault is kept.
#ifndef GLINT_SERVER_REQUEST_FIELD_H
#define GLINT_SERVER_REQUEST_FIELD_H

#include "format/json.h"
#include "server/api_error.h"

struct glint_fields {
    const struct glint_json *object;
    struct glint_api_error *error; // status 0 until a field is refused
};

// NULL when absent or null.
const struct glint_json *glint_field(const struct glint_fields *fields, const char *name);
// All return false after a refusal, also an earlier one.
bool glint_field_double(const struct glint_fields *fields, const char *name, double min, double max,
                        double *out);
bool glint_field_int(const struct glint_fields *fields, const char *name, int64_t min, int64_t max,
                     int64_t *out);
bool glint_field_bool(const struct glint_fields *fields, const char *name, bool *out);
// A string without NUL bytes, which lives as long as the document.
bool glint_field_text(const struct glint_fields *fields, const char *name, const char **out);
// A field that this server knows but does not honour: refused unless absent, null, false, an empty
// list or text, or the number that means "off".
bool glint_field_unsupported(const struct glint_fields *fields, const char *name, double off);
bool glint_field_refuse(const struct glint_fields *fields, const char *name, const char *expected);

#endif
