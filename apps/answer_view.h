// SPDX-License-Identifier: Apache-2.0
// answer_view.h — an answer for the eye: text to standard output as it comes, reasoning (dimmed)
// to standard error, calls as JSON lines on standard output or as notes on standard error.
#ifndef GLINT_APPS_ANSWER_VIEW_H
#define GLINT_APPS_ANSWER_VIEW_H

#include "terminal.h"

#include <glint/glint.h>

struct glint_answer_view {
    struct glint_terminal out, notes;
    bool hide_reasoning;
    bool call_notes; // calls are notes, not part of the output
    // state
    bool in_reasoning, in_call;
};

void glint_answer_view_init(struct glint_answer_view *view);
void glint_answer_view_put(struct glint_answer_view *view, const struct glint_turn_event *event);
// Ends the lines that are open.
void glint_answer_view_end(struct glint_answer_view *view);

#endif
