// SPDX-License-Identifier: Apache-2.0
// value.h — plain data of a conversation (messages, tools, variables) and the values the template
// language computes. Made from JSON with the order of keys and the digits of integers kept.
// Values are small and copied; what they point to lives in a heap and, except namespaces and the
// template's own objects, never changes once built.
#ifndef GLINT_PROMPT_VALUE_H
#define GLINT_PROMPT_VALUE_H

#include "format/json.h"
#include "prompt/span_string.h"

enum glint_value_kind {
    GLINT_VALUE_UNDEFINED, // as.text: what was looked for, or NULL
    GLINT_VALUE_NONE,
    GLINT_VALUE_BOOL,
    GLINT_VALUE_INT,
    GLINT_VALUE_BIG_INT, // as.text: digits of an integer past 64 bits
    GLINT_VALUE_FLOAT,
    GLINT_VALUE_STRING,
    GLINT_VALUE_LIST,
    GLINT_VALUE_TUPLE, // as.list
    GLINT_VALUE_DICT,
    // The template's own:
    GLINT_VALUE_NAMESPACE, // as.dict
    GLINT_VALUE_MACRO,
    GLINT_VALUE_FUNCTION, // built in
    GLINT_VALUE_METHOD,   // of a value
    GLINT_VALUE_LOOP,
    GLINT_VALUE_CYCLER,
    GLINT_VALUE_JOINER,
};

struct glint_macro;
struct glint_method;
struct glint_loop;
struct glint_cycler;

struct glint_value {
    enum glint_value_kind kind;
    union {
        bool truth;
        int64_t integer;
        double number;
        int function;
        const struct glint_string *text;
        struct glint_list *list;
        struct glint_dict *dict;
        struct glint_macro *macro;
        struct glint_method *method;
        struct glint_loop *loop;
        struct glint_cycler *cycler;
    } as;
};

struct glint_list {
    struct glint_value *items; // [n]
    size_t n;
};

struct glint_entry {
    struct glint_value key;
    struct glint_value value;
};

struct glint_dict {
    struct glint_entry *entries; // [n], in order of first insertion
    size_t n;
    size_t capacity;
};

struct glint_value glint_value_none(void);
struct glint_value glint_value_bool(bool truth);
struct glint_value glint_value_int(int64_t integer);
struct glint_value glint_value_float(double number);
struct glint_value glint_value_undefined(const struct glint_string *what); // what may be NULL
struct glint_value glint_value_string(const struct glint_string *text);

// False when the heap is full. The value's strings and keys count as `origin`'s; they are copied.
bool glint_value_from_json(struct glint_heap *heap, const struct glint_json *json,
                           enum glint_origin origin, struct glint_value *value);
// A string value of literal text, borrowed, of the template's origin.
bool glint_value_literal(struct glint_heap *heap, const char *literal, struct glint_value *value);

// n items, all undefined until set.
struct glint_list *glint_list_make(struct glint_heap *heap, size_t n);
// An empty dictionary with room for n entries.
struct glint_dict *glint_dict_make(struct glint_heap *heap, size_t n);
// Sets or replaces; a key keeps its first place. Keys are strings, integers or booleans (equal
// when they are the same kind and content). False when the heap is full.
bool glint_dict_put(struct glint_heap *heap, struct glint_dict *dict, struct glint_value key,
                    struct glint_value value);
bool glint_dict_put_text(struct glint_heap *heap, struct glint_dict *dict, const char *key,
                         struct glint_value value);
// NULL when absent. Linear in the number of entries.
struct glint_value *glint_dict_get(const struct glint_dict *dict, struct glint_value key);
struct glint_value *glint_dict_get_text(const struct glint_dict *dict, const char *key);

bool glint_value_is_list(struct glint_value value); // list or tuple
bool glint_value_is_string(struct glint_value value, const char *literal);
// Truth as Python sees it: empty and zero are false.
bool glint_value_truth(struct glint_value value);
// "str", "list", ... as Python names types, for messages.
const char *glint_value_kind_name(struct glint_value value);

#endif
