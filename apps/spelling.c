// SPDX-License-Identifier: Apache-2.0
// spelling.c — edit distance (Levenshtein), one row of its table at a time.
#include "spelling.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_NAME = 40 };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t count_edits(const char *word, size_t n_word, const char *name, size_t n_name) {
    size_t row[MAX_NAME + 1]; // [j]: from the word so far to the first j letters of the name
    for (size_t j = 0; j <= n_name; j++)
        row[j] = j;
    for (size_t i = 0; i < n_word; i++) {
        size_t before = row[0]; // [j] of the row before
        row[0] = i + 1;
        for (size_t j = 0; j < n_name; j++) {
            size_t changed = before + (word[i] != name[j]);
            before = row[j + 1];
            row[j + 1] = least(changed, least(row[j], before) + 1);
        }
    }
    return row[n_name];
}

void glint_spelling_offer(struct glint_spelling *spelling, const char *name) {
    size_t n = strlen(name), most = n < 4 ? 1 : n < 8 ? 2 : 3;
    if (n < 2 || n > MAX_NAME || spelling->n > MAX_NAME)
        return;
    bool begins = spelling->n > 0 && strncmp(spelling->word, name, spelling->n) == 0;
    size_t n_edit = begins ? 0 : count_edits(spelling->word, spelling->n, name, n);
    if (n_edit > most || n_edit >= n || (spelling->nearest && n_edit >= spelling->n_edit))
        return;
    spelling->nearest = name;
    spelling->n_edit = n_edit;
}
