// SPDX-License-Identifier: Apache-2.0
// schema_shape.h — JSON schemas taken together: what a value must be to satisfy all of a set.
// References are followed, allOf is joined, anyOf and oneOf are spread out, so that a set of
// schemas becomes a list of shapes, of which a value has at least one. A shape may be narrower
// than its schemas, never wider. Keywords that cannot be enforced are refused by path.
#ifndef GLINT_ENGINE_SCHEMA_SHAPE_H
#define GLINT_ENGINE_SCHEMA_SHAPE_H

#include "engine/schema_path.h"
#include "sample/number_dfa.h"
#include "stream/argument.h"

enum {
    GLINT_SHAPE_MAX_PARTS = 64,     // schemas that apply to one value
    GLINT_SHAPE_MAX_COUNT = 256,    // shapes of one set
    GLINT_SHAPE_MAX_VALUES = 5000,  // different sets in one document
    GLINT_SHAPE_MAX_STEPS = 200000, // combinations looked at for one document
};

// Schemas that all apply to one value: ascending addresses, each once. None: any value.
struct glint_schema_set {
    const struct glint_json *schemas[GLINT_SHAPE_MAX_PARTS];
    uint32_t n;
};

// Adds a schema; refuses what is no schema and sets that are too large.
enum glint_status glint_schema_set_add(const struct glint_schema_document *document,
                                       struct glint_schema_set *set,
                                       const struct glint_json *schema, struct glint_error *err);

struct glint_shape_member {
    struct glint_view name;
    bool required;
};

struct glint_shape {
    const struct glint_schema_document *document;
    const struct glint_json *parts[GLINT_SHAPE_MAX_PARTS]; // objects, references resolved
    uint32_t n_parts;
    const struct glint_json *nots[GLINT_SHAPE_MAX_PARTS]; // schemas the value does not satisfy
    uint32_t n_nots;
    const struct glint_json *chain[GLINT_SHAPE_MAX_PARTS]; // of each part: what led to it
    unsigned types;                                        // enum glint_json_type bits
    const struct glint_json **values;                      // [n_values] if listed: the only ones
    uint32_t n_values;
    bool listed;
    struct glint_number_rule number;
    const struct glint_json *patterns[2];
    unsigned n_patterns;
    uint32_t least_chars, most_chars;
    uint32_t least_items, most_items;
    uint32_t n_prefix; // items that have schemas of their own
    bool unique_items;
    struct glint_shape_member *members; // [n_members] keys that may be written
    uint32_t n_members;
    bool other_members; // and any key besides
    uint32_t least_members, most_members;
};

struct glint_shapes { // all-zero is a valid empty list
    struct glint_shape *data;
    uint32_t n, capacity;
};
void glint_shapes_fini(struct glint_shapes *shapes);
void glint_shape_fini(struct glint_shape *shape);

// The shapes of a set; none: no value satisfies it.
enum glint_status glint_shapes_of(const struct glint_schema_document *document,
                                  const struct glint_schema_set *set, struct glint_shapes *shapes,
                                  struct glint_error *err);
// The schemas of a member's value, of a member that is not listed (name NULL), of item i.
enum glint_status glint_shape_member_set(const struct glint_shape *shape,
                                         const struct glint_view *name,
                                         struct glint_schema_set *set, struct glint_error *err);
enum glint_status glint_shape_item_set(const struct glint_shape *shape, uint32_t i,
                                       struct glint_schema_set *set, struct glint_error *err);
// Reads the keywords of the shape's parts into the rest of it. *possible is false when they
// contradict each other.
enum glint_status glint_shape_fold(struct glint_shape *shape, bool *possible,
                                   struct glint_error *err);
// Whether a listed value satisfies the other keywords of a shape.
enum glint_status glint_shape_takes(const struct glint_shape *shape, const struct glint_json *value,
                                    bool *fits, struct glint_error *err);
// Narrows the shape so that no value of it satisfies one of its nots; refuses when it cannot.
enum glint_status glint_shape_exclude(struct glint_shape *shape, struct glint_error *err);

#endif
