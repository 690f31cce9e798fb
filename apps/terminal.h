// SPDX-License-Identifier: Apache-2.0
// terminal.h — text to a stream that may be a terminal. On a terminal, control characters are
// shown ("^[") instead of sent, characters that it lacks become '?', long lines break at spaces,
// and colours are used unless NO_COLOR or TERM=dumb say otherwise. Elsewhere bytes pass unchanged.
#ifndef GLINT_APPS_TERMINAL_H
#define GLINT_APPS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum glint_style { GLINT_STYLE_PLAIN, GLINT_STYLE_DIM, GLINT_STYLE_BOLD };

struct glint_terminal {
    FILE *file;
    bool is_terminal, colour, utf8, wrap;
    bool line_open; // what was last written is not the end of a line
    int column;     // cells used of the line
    char word[256]; // held until it is known where it goes
    size_t n_word;  // bytes
    int word_cells;
};

// Also sets the locale of characters from the environment, once.
void glint_terminal_init(struct glint_terminal *terminal, FILE *file);
void glint_terminal_style(struct glint_terminal *terminal, enum glint_style style);
// text is UTF-8.
void glint_terminal_put(struct glint_terminal *terminal, const char *text, size_t n);
// Writes what is held and flushes the stream.
void glint_terminal_flush(struct glint_terminal *terminal);
// Ends the line if one is open.
void glint_terminal_end_line(struct glint_terminal *terminal);
// Cells of a line; 80 when unknown.
int glint_terminal_width(const struct glint_terminal *terminal);

#endif
