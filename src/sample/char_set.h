// SPDX-License-Identifier: Apache-2.0
// char_set.h — sets of code points as a pattern writes them: characters, escapes, classes.
#ifndef GLINT_SAMPLE_CHAR_SET_H
#define GLINT_SAMPLE_CHAR_SET_H

#include "base/buffer.h"
#include "base/status.h"

enum { GLINT_CHAR_SET_MAX = 128 };
#define GLINT_CHAR_CLASS UINT32_MAX // what was read is a class, not one character

struct glint_char_range {
    uint32_t low, high;
};
struct glint_char_set { // all-zero is the empty set
    struct glint_char_range ranges[GLINT_CHAR_SET_MAX];
    unsigned n;
    bool negated;
};

// False when the set is full.
bool glint_char_set_add(struct glint_char_set *set, uint32_t low, uint32_t high);
// Sorts, merges, and turns a negated set into a plain one.
void glint_char_set_close(struct glint_char_set *set);
// Reads a character or an escape at text[*at]. A class (\d) is added to the set.
enum glint_status glint_char_set_read(struct glint_char_set *set, struct glint_view text,
                                      size_t *at, uint32_t *code, struct glint_error *err);

#endif
