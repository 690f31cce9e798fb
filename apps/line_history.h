// SPDX-License-Identifier: Apache-2.0
// line_history.h — what was typed before, kept in a file of the user's state folder
// (XDG_STATE_HOME or ~/.local/state, glint/history), readable by the user alone.
#ifndef GLINT_APPS_LINE_HISTORY_H
#define GLINT_APPS_LINE_HISTORY_H

#include <histedit.h>

struct glint_line_history;

// Reads the file if there is one; without a place for it the history ends with the program. NULL
// when out of memory.
struct glint_line_history *glint_line_history_open(void);
void glint_line_history_close(struct glint_line_history **kept);
// Makes it the history of a line editor, which must be closed first.
void glint_line_history_attach(struct glint_line_history *kept, EditLine *edit);
// Adds a text and writes the file.
void glint_line_history_add(struct glint_line_history *kept, const char *text);

#endif
