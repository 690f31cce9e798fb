// SPDX-License-Identifier: Apache-2.0
// answer_view.c — events to two streams.
#include "answer_view.h"

#include "json_out.h"

#include <string.h>

void glint_answer_view_init(struct glint_answer_view *view) {
    *view = (struct glint_answer_view){.hide_reasoning = false};
    glint_terminal_init(&view->out, stdout);
    glint_terminal_init(&view->notes, stderr);
}

static void put_text(struct glint_terminal *terminal, const char *text) {
    glint_terminal_put(terminal, text, strlen(text));
}

static void show_reasoning(struct glint_answer_view *view, const struct glint_turn_event *event) {
    if (view->hide_reasoning)
        return;
    if (!view->in_reasoning) {
        glint_terminal_style(&view->notes, GLINT_STYLE_DIM);
        if (view->notes.is_terminal && !view->notes.colour)
            put_text(&view->notes, "[thinking] ");
    }
    view->in_reasoning = true;
    glint_terminal_put(&view->notes, event->text, event->n);
    fflush(view->notes.file);
}

static void end_reasoning(struct glint_answer_view *view) {
    if (!view->in_reasoning)
        return;
    glint_terminal_style(&view->notes, GLINT_STYLE_PLAIN);
    glint_terminal_end_line(&view->notes);
    view->in_reasoning = false;
}

static struct glint_terminal *call_stream(struct glint_answer_view *view) {
    return view->call_notes ? &view->notes : &view->out;
}

static void end_call(struct glint_answer_view *view) {
    struct glint_terminal *stream = call_stream(view);
    if (!view->in_call)
        return;
    put_text(stream, view->call_notes ? "" : "}");
    glint_terminal_style(stream, GLINT_STYLE_PLAIN);
    glint_terminal_end_line(stream);
    view->in_call = false;
}

static void begin_call(struct glint_answer_view *view, const struct glint_turn_event *event) {
    struct glint_terminal *stream = call_stream(view);
    end_reasoning(view);
    end_call(view);
    glint_terminal_end_line(&view->out);
    view->in_call = true;
    if (view->call_notes) {
        glint_terminal_style(stream, GLINT_STYLE_DIM);
        put_text(stream, "calls ");
        glint_terminal_put(stream, event->text, event->n);
        put_text(stream, " ");
        return;
    }
    put_text(stream, "{\"name\":");
    glint_terminal_flush(stream);
    glint_json_out_string(stream->file, event->text, event->n);
    put_text(stream, ",\"arguments\":");
}

void glint_answer_view_put(struct glint_answer_view *view, const struct glint_turn_event *event) {
    switch (event->kind) {
    case GLINT_TURN_REASONING:
        show_reasoning(view, event);
        break;
    case GLINT_TURN_CONTENT:
        end_reasoning(view);
        glint_terminal_put(&view->out, event->text, event->n);
        fflush(view->out.file);
        break;
    case GLINT_TURN_CALL:
        begin_call(view, event);
        break;
    case GLINT_TURN_ARGUMENTS:
        glint_terminal_put(call_stream(view), event->text, event->n);
        break;
    case GLINT_TURN_FINISH:
    case GLINT_TURN_REMAINS: // part of no message
        break;
    }
}

void glint_answer_view_end(struct glint_answer_view *view) {
    end_reasoning(view);
    end_call(view);
    glint_terminal_end_line(&view->out);
}
