// SPDX-License-Identifier: Apache-2.0
// schema_path.h — places in a schema document: the path of a node, the node of a reference.
#ifndef GLINT_ENGINE_SCHEMA_PATH_H
#define GLINT_ENGINE_SCHEMA_PATH_H

#include "format/json.h"

struct glint_schema_document {
    const struct glint_json *root;
    const char *name;  // for errors: "schema"
    uint32_t *n_steps; // work done so far: schemas refer to each other in endless ways
};

// "name#/properties/a: what"; the status.
enum glint_status glint_schema_fail(const struct glint_schema_document *document,
                                    const struct glint_json *at, struct glint_error *err,
                                    enum glint_status status, const char *what);
// The schema that a local reference names: "#", "#/a/b" or "#anchor"; NULL when there is none.
const struct glint_json *glint_schema_follow(const struct glint_schema_document *document,
                                             struct glint_view reference);
// The same value: numbers by value, objects in any order.
bool glint_json_equal(const struct glint_json *a, const struct glint_json *b);

#endif
