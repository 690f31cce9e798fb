// SPDX-License-Identifier: Apache-2.0
// json.h — reading JSON (RFC 8259) from untrusted bytes into a tree that keeps what prompts
// need: the order of keys and the spelling of numbers.
// Strict: valid UTF-8, no comments, no trailing commas, no NaN, nothing after the value. A key
// that occurs twice keeps its first place and takes its last value, as Python's reader does.
// Nodes and text live in one block owned by the document; the input is not needed afterwards.
#ifndef GLINT_FORMAT_JSON_H
#define GLINT_FORMAT_JSON_H

#include "base/buffer.h"
#include "base/status.h"

enum { GLINT_JSON_MAX_DEPTH = 256 };

enum glint_json_kind {
    GLINT_JSON_NULL,
    GLINT_JSON_BOOL,
    GLINT_JSON_NUMBER,
    GLINT_JSON_STRING,
    GLINT_JSON_ARRAY,
    GLINT_JSON_OBJECT,
};

// One value. Iterate the members of an array or object with
//     for (const struct glint_json *m = glint_json_first(value); m; m = m->next)
struct glint_json {
    enum glint_json_kind kind;
    uint32_t n;             // members of an array or object
    bool truth;             // of a BOOL
    struct glint_view key;  // name inside an object, decoded; data[n] is 0
    struct glint_view text; // STRING: decoded, may hold NUL bytes; NUMBER: as spelled; data[n] is 0
    const struct glint_json *child; // first member
    const struct glint_json *next;  // sibling
};

struct glint_json_options { // all zero: the defaults
    unsigned max_depth;     // of nested arrays and objects; 0 means GLINT_JSON_MAX_DEPTH
    bool repair_surrogates; // "\ud800" alone becomes U+FFFD instead of an error
    const char *name;       // what the text is, for errors; NULL means "JSON"
};

struct glint_json_doc;

// options may be NULL. Errors tell line and column. On failure *doc is NULL.
enum glint_status glint_json_parse(struct glint_json_doc **doc, struct glint_view text,
                                   const struct glint_json_options *options,
                                   struct glint_error *err);
// Reads a whole file of at most max_bytes and parses it.
enum glint_status glint_json_load(struct glint_json_doc **doc, const char *path, size_t max_bytes,
                                  struct glint_error *err);
void glint_json_close(struct glint_json_doc **doc);
const struct glint_json *glint_json_root(const struct glint_json_doc *doc);

// The functions below accept NULL as "no such value", so that lookups chain.
bool glint_json_is(const struct glint_json *value, enum glint_json_kind kind);
const struct glint_json *glint_json_first(const struct glint_json *value); // NULL: no members
// Member by name; NULL when absent or not an object. Linear in the number of members.
const struct glint_json *glint_json_get(const struct glint_json *object, const char *key);
const struct glint_json *glint_json_get_view(const struct glint_json *object,
                                             struct glint_view key);
const struct glint_json *glint_json_at(const struct glint_json *array, uint32_t i); // linear
// A number spelled without point and exponent ("12", "-0"; of any length).
bool glint_json_is_int(const struct glint_json *value);
// False when it is not a number, not an integer (for the integer forms: a spelling such as 1e3
// or 2.0 with an integral value counts) or out of range.
bool glint_json_to_i64(const struct glint_json *value, int64_t *out);
bool glint_json_to_u64(const struct glint_json *value, uint64_t *out);
// Nearest double; a number too large gives an infinity.
bool glint_json_to_double(const struct glint_json *value, double *out);
bool glint_json_to_bool(const struct glint_json *value, bool *out);
bool glint_json_to_string(const struct glint_json *value, struct glint_view *out);
bool glint_json_is_text(const struct glint_json *value, const char *text); // a string equal to it
// "object", "string", ... for messages; "nothing" for NULL.
const char *glint_json_kind_name(const struct glint_json *value);

// Nearest double to a JSON number's spelling; does not depend on the locale.
double glint_json_parse_double(struct glint_view lexeme);

#endif
