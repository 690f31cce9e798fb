// SPDX-License-Identifier: Apache-2.0
// schema_value.h — values of a JSON schema to grammar.
// A value is a CHOICE for a set of schemas; each set of a document is compiled once, so schemas
// may refer to themselves. Spelling: JSON with no white space, or the usual one (a space behind
// colons and commas, or line breaks with indentation).
#ifndef GLINT_ENGINE_SCHEMA_VALUE_H
#define GLINT_ENGINE_SCHEMA_VALUE_H

#include "engine/schema_shape.h"
#include "sample/grammar.h"
#include "sample/text_dfa.h"

struct glint_json_lexemes { // start states and nodes that all values of a grammar share
    uint32_t brace_open, brace_close, brace_close_after; // with the white space around them
    uint32_t bracket_open, bracket_close, bracket_close_after;
    uint32_t comma, colon, quote, null, boolean, integer, number;
    uint32_t leave; // the RETURN node
};
enum glint_status glint_json_lexemes_init(struct glint_json_lexemes *lexemes,
                                          struct glint_grammar *grammar, struct glint_error *err);

struct glint_schema_value {
    struct glint_schema_set set;
    uint32_t choice;
};

struct glint_schema_compiler {
    struct glint_grammar *grammar;
    const struct glint_json_lexemes *lexemes;
    struct glint_schema_document document;
    bool in_call;                      // inside a tool call: no text may contain its closing tag
    struct glint_schema_value *values; // [n_values], the first n_done compiled
    uint32_t n_values, n_done, capacity;
};
void glint_schema_compiler_fini(struct glint_schema_compiler *compiler);

// The CHOICE of a set, to be compiled by glint_schema_compile.
enum glint_status glint_schema_value(struct glint_schema_compiler *compiler,
                                     const struct glint_schema_set *set, uint32_t *choice,
                                     struct glint_error *err);
enum glint_status glint_schema_compile(struct glint_schema_compiler *compiler,
                                       struct glint_error *err);
// After glint_grammar_measure: refuses a value that cannot be written, naming the schema that is
// at fault.
enum glint_status glint_schema_check(const struct glint_schema_compiler *compiler, uint32_t choice,
                                     struct glint_error *err);

// Pieces for other spellings. A list of alternatives of one CHOICE.
struct glint_links {
    struct glint_link *data;
    uint32_t n, capacity;
};
enum glint_status glint_links_add(struct glint_links *links, struct glint_link link,
                                  struct glint_error *err);
// The alternatives of a shape as JSON; with skip_text all but strings.
enum glint_status glint_schema_links(struct glint_schema_compiler *compiler,
                                     const struct glint_shape *shape, bool skip_text,
                                     struct glint_links *links, struct glint_error *err);
// Start state of the shape's strings behind the opening quote, or raw; *node is a LEX that goes on
// to `next`. GLINT_NODE_NONE: there are none.
enum glint_status glint_schema_text(struct glint_schema_compiler *compiler,
                                    const struct glint_shape *shape, enum glint_spelling spelling,
                                    uint32_t next, uint32_t *node, struct glint_error *err);

#endif
