// SPDX-License-Identifier: Apache-2.0
// convert_config.h — values of an official config.json, with errors that name file and field.
#ifndef GLINT_APPS_CONVERT_CONFIG_H
#define GLINT_APPS_CONVERT_CONFIG_H

#include "format/json.h"

// One object of a configuration file.
struct glint_convert_scope {
    const char *path;                // of the file
    const char *prefix;              // "text_config." or ""
    const struct glint_json *object; // never NULL
};

// "<folder>/<name>"; glint_free it. NULL when out of memory.
char *glint_convert_path(const char *folder, const char *name);

// The object `key` inside scope's object; it must be there. prefix names it in errors.
enum glint_status glint_convert_inner(const struct glint_convert_scope *scope, const char *key,
                                      const char *prefix, struct glint_convert_scope *out,
                                      struct glint_error *err);
// Fails with what was found and expected.
enum glint_status glint_convert_unfit(const struct glint_convert_scope *scope, const char *key,
                                      const char *expected, struct glint_error *err);

// Required: a whole number from 1 to 2^24.
enum glint_status glint_convert_u32(const struct glint_convert_scope *scope, const char *key,
                                    uint32_t *out, struct glint_error *err);
// A token id, a whole number from 0; of a list, the first. A missing key or null leaves *out.
enum glint_status glint_convert_id(const struct glint_convert_scope *scope, const char *key,
                                   int64_t *out, struct glint_error *err);
// Required: a finite number.
enum glint_status glint_convert_number(const struct glint_convert_scope *scope, const char *key,
                                       double *out, struct glint_error *err);
// Required list of exactly n items; NULL in *out when the key is missing or null.
enum glint_status glint_convert_list(const struct glint_convert_scope *scope, const char *key,
                                     uint32_t n, const struct glint_json **out,
                                     struct glint_error *err);
// Where the engine knows one value only: missing is right, anything else is refused.
enum glint_status glint_convert_only_text(const struct glint_convert_scope *scope, const char *key,
                                          const char *value, struct glint_error *err);
enum glint_status glint_convert_only_bool(const struct glint_convert_scope *scope, const char *key,
                                          bool value, struct glint_error *err);
enum glint_status glint_convert_only_number(const struct glint_convert_scope *scope,
                                            const char *key, double value, struct glint_error *err);
// rope_parameters: the base, of type `type` ("default" or "axial").
enum glint_status glint_convert_rope(const struct glint_convert_scope *scope, const char *type,
                                     double *base, struct glint_error *err);
// layer_types: sliding[i] for n layers. other: what the layers that do not slide are called. *given
// is false (and sliding untouched) when the key is missing.
enum glint_status glint_convert_layer_types(const struct glint_convert_scope *scope, uint32_t n,
                                            const char *sliding_name, bool *sliding, bool *given,
                                            struct glint_error *err);

#endif
