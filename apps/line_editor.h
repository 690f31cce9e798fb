// SPDX-License-Identifier: Apache-2.0
// line_editor.h — what a person types: lines with editing and history (libedit) when standard
// input and standard error are a terminal that can, plain lines otherwise.
#ifndef GLINT_APPS_LINE_EDITOR_H
#define GLINT_APPS_LINE_EDITOR_H

#include <stdbool.h>
#include <stddef.h>

struct glint_line_editor;

enum glint_line_result {
    GLINT_LINE_TEXT,
    GLINT_LINE_INTERRUPT,       // Ctrl-C in an empty line
    GLINT_LINE_INTERRUPT_TYPED, // Ctrl-C in a line with something in it, which is lost
    GLINT_LINE_END,             // Ctrl-D, end of input, SIGTERM
};

// words: what Tab completes at the beginning of a line, ended by NULL, borrowed. history: keep one
// in the state folder of the user. NULL when out of memory.
struct glint_line_editor *glint_line_editor_open(const char *const *words, bool history);
void glint_line_editor_close(struct glint_line_editor **editor);
// True when there is somebody to prompt.
bool glint_line_editor_is_interactive(const struct glint_line_editor *editor);
// Reads one line (which may hold line breaks: pasted, or typed with Alt-Enter) into *text, for
// free(), without its end. prompt may hold colours between \1 and \1. initial: text to start from,
// or NULL.
enum glint_line_result glint_line_editor_read(struct glint_line_editor *editor, const char *prompt,
                                              const char *initial, char **text, size_t *n);
// Adds a text to the history.
void glint_line_editor_remember(struct glint_line_editor *editor, const char *text);

#endif
