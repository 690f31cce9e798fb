// SPDX-License-Identifier: Apache-2.0
// atem.h — the tool-call markup of this model, read as models write it: wrappers optional, closers
// lost, tags damaged. Text is appended as it arrives; calls come out in order when complete.
// Each byte is searched a bounded number of times, whatever the text.
#ifndef GLINT_STREAM_ATEM_H
#define GLINT_STREAM_ATEM_H

#include "stream/tool_set.h"

struct glint_atem_call {
    const struct glint_tool *tool; // NULL: the name is not declared
    size_t name_begin, name_end;   // as written, offsets into the text
    size_t i_param, n_params;      // in glint_atem.params
};

// Where a search for one tag has got to: no match begins in [from, at) and, if found, one at `at`.
struct glint_atem_search {
    size_t from, at;
    bool found, valid;
};

enum { GLINT_ATEM_TAGS = 5 };

struct glint_atem_range { // a parameter by offsets, while the text may still move
    size_t key_begin, key_end, value_begin, value_end;
};

struct glint_atem { // all-zero plus tools is a valid empty one
    const struct glint_tool_set *tools;
    struct glint_buffer text;
    size_t at; // parsed up to here
    enum {
        GLINT_ATEM_OUTSIDE,   // between invokes
        GLINT_ATEM_INVOKE,    // behind "<atem:invoke"
        GLINT_ATEM_NAME,      // in the name of an invoke
        GLINT_ATEM_INSIDE,    // between parameters of an invoke
        GLINT_ATEM_PARAMETER, // behind "<atem:parameter"
        GLINT_ATEM_KEY,       // in the key of a parameter
        GLINT_ATEM_VALUE,     // in a value
    } state;
    size_t seek;                   // how far the current tag has been looked at
    size_t tag_begin;              // of the open invoke
    size_t space_begin, space_end; // the white space skipped last
    size_t value_from;             // where to look for the next closer of the value
    size_t first_closer;           // of the value; SIZE_MAX: none yet
    size_t none_after; // no closer at or behind this offset qualifies; SIZE_MAX: not known
    struct glint_atem_search searches[GLINT_ATEM_TAGS];
    struct glint_atem_range *params; // of all calls, owned
    size_t n_params, param_capacity;
    struct glint_atem_call *calls; // [n_calls] complete ones, then the open one; owned
    size_t n_calls, call_capacity;
    size_t n_invokes;            // opened, complete or not
    struct glint_buffer dropped; // what was neither markup nor white space nor values
    bool failed;                 // out of memory
};

enum glint_atem_end {
    GLINT_ATEM_MORE,   // text may follow
    GLINT_ATEM_CLOSED, // the body was closed by a marker
    GLINT_ATEM_CUT,    // generation stopped inside the body
};

void glint_atem_fini(struct glint_atem *atem);
void glint_atem_clear(struct glint_atem *atem); // keeps the memory
void glint_atem_append(struct glint_atem *atem, const char *data, size_t n);
// Keeps the first n bytes of the text; parsing starts over.
void glint_atem_cut(struct glint_atem *atem, size_t n);
// Parses as far as can be decided. After an end other than MORE only the results may be read, and
// dropped also has the text of an invoke that is not complete.
void glint_atem_parse(struct glint_atem *atem, enum glint_atem_end end);
// After a parse: a parameter's tag is open and nothing that may close it has come.
bool glint_atem_in_value(struct glint_atem *atem);
// Every byte was markup or white space, and every invoke is complete and of a declared tool.
bool glint_atem_is_pure(const struct glint_atem *atem);
// The name to report: the tool's, or what the model wrote (which may be ill-formed UTF-8).
struct glint_view glint_atem_name(const struct glint_atem *atem,
                                  const struct glint_atem_call *call);
// Appends the arguments of a complete call as a JSON object.
void glint_atem_put_arguments(const struct glint_atem *atem, const struct glint_atem_call *call,
                              struct glint_buffer *out);

#endif
