// SPDX-License-Identifier: Apache-2.0
// split.h — the rule that cuts a run of text into pieces before merging.
// A deterministic scanner equal to the model's regular expression (seven alternatives, leftmost,
// first wins); no recursion, no memory, and every character is looked at a bounded number of
// times however the text is made.
#ifndef GLINT_TOKEN_SPLIT_H
#define GLINT_TOKEN_SPLIT_H

#include <stddef.h>

// End of the piece that starts at `begin` < n of well-formed UTF-8; always > begin. The end of
// the text counts as the end of the run.
size_t glint_split_next(const char *text, size_t n, size_t begin);

#endif
