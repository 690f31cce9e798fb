// SPDX-License-Identifier: Apache-2.0
// request_field.c — typed reads of one object.
#include "server/request_field.h"

#include <stdio.h>
#include <string.h>

const struct glint_json *glint_field(const struct glint_fields *fields, const char *name) {
    const struct glint_json *value = glint_json_get(fields->object, name);
    return glint_json_is(value, GLINT_JSON_NULL) ? NULL : value;
}

// What was found, short enough to be quoted.
static void describe(const struct glint_json *value, char out[80]) {
    if (glint_json_is(value, GLINT_JSON_NUMBER))
        snprintf(out, 80, "%.60s", value->text.data);
    else if (glint_json_is(value, GLINT_JSON_STRING))
        snprintf(out, 80, "\"%.60s\"", value->text.data);
    else
        snprintf(out, 80, "%s", glint_json_kind_name(value));
}

bool glint_field_refuse(const struct glint_fields *fields, const char *name, const char *expected) {
    char found[80];
    if (fields->error->status != 0)
        return false;
    describe(glint_json_get(fields->object, name), found);
    glint_api_fail(fields->error, 400, name, "%s: found %s, expected %s", name, found, expected);
    return false;
}

bool glint_field_double(const struct glint_fields *fields, const char *name, double min, double max,
                        double *out) {
    const struct glint_json *value = glint_field(fields, name);
    char expected[80];
    double number;
    if (!value || fields->error->status != 0)
        return fields->error->status == 0;
    if (!glint_json_to_double(value, &number) || !(number >= min && number <= max)) {
        snprintf(expected, sizeof expected, "a number from %g to %g", min, max);
        return glint_field_refuse(fields, name, expected);
    }
    *out = number;
    return true;
}

bool glint_field_int(const struct glint_fields *fields, const char *name, int64_t min, int64_t max,
                     int64_t *out) {
    const struct glint_json *value = glint_field(fields, name);
    char expected[80];
    int64_t number;
    if (!value || fields->error->status != 0)
        return fields->error->status == 0;
    if (!glint_json_to_i64(value, &number) || number < min || number > max) {
        snprintf(expected, sizeof expected, "an integer from %lld to %lld", (long long)min,
                 (long long)max);
        return glint_field_refuse(fields, name, expected);
    }
    *out = number;
    return true;
}

bool glint_field_bool(const struct glint_fields *fields, const char *name, bool *out) {
    const struct glint_json *value = glint_field(fields, name);
    if (!value || fields->error->status != 0)
        return fields->error->status == 0;
    return glint_json_to_bool(value, out) || glint_field_refuse(fields, name, "true or false");
}

bool glint_field_text(const struct glint_fields *fields, const char *name, const char **out) {
    const struct glint_json *value = glint_field(fields, name);
    if (!value || fields->error->status != 0)
        return fields->error->status == 0;
    if (!glint_json_is(value, GLINT_JSON_STRING) || strlen(value->text.data) != value->text.n)
        return glint_field_refuse(fields, name, "a string");
    *out = value->text.data;
    return true;
}

bool glint_field_unsupported(const struct glint_fields *fields, const char *name, double off) {
    const struct glint_json *value = glint_field(fields, name);
    double number;
    bool truth;
    if (!value || fields->error->status != 0)
        return fields->error->status == 0;
    bool neutral = (glint_json_to_double(value, &number) && number == off) ||
                   (glint_json_to_bool(value, &truth) && !truth) ||
                   (glint_json_is(value, GLINT_JSON_ARRAY) && value->n == 0) ||
                   glint_json_is_text(value, "");
    if (!neutral)
        glint_api_fail(fields->error, 400, name, "%s: this server does not do that; leave it out",
                       name);
    return neutral;
}
