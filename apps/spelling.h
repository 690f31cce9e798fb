// SPDX-License-Identifier: Apache-2.0
// spelling.h — what a misspelt word was meant to be.
#ifndef GLINT_APPS_SPELLING_H
#define GLINT_APPS_SPELLING_H

#include <stddef.h>

// The nearest of the names offered so far. Start from {.word = ..., .n = its bytes}.
struct glint_spelling {
    const char *word; // [n], not terminated
    size_t n;
    const char *nearest; // NULL: none is near enough
    size_t n_edit;       // letters to change, add or leave out; 0 when the word begins it
};

// The name must outlive the search.
void glint_spelling_offer(struct glint_spelling *spelling, const char *name);

#endif
