// SPDX-License-Identifier: Apache-2.0
// kept_turn.c — events to texts, texts to JSON.
#include "kept_turn.h"

#include "json_out.h"

#include <stdlib.h>
#include <string.h>

bool glint_kept_append(struct glint_kept_text *text, const char *data, size_t n) {
    char *grown = realloc(text->data, text->n + n + 1);
    if (!grown)
        return false;
    memcpy(grown + text->n, data, n);
    text->data = grown;
    text->n += n;
    grown[text->n] = 0;
    return true;
}

static bool begin_call(struct glint_kept_turn *turn, const struct glint_turn_event *event) {
    struct glint_kept_call *calls = realloc(turn->calls, (turn->n_calls + 1) * sizeof *calls);
    if (!calls)
        return false;
    turn->calls = calls;
    calls[turn->n_calls] = (struct glint_kept_call){.name = {.data = NULL}};
    return glint_kept_append(&calls[turn->n_calls++].name, event->text, event->n);
}

void glint_kept_turn_put(struct glint_kept_turn *turn, const struct glint_turn_event *event) {
    bool ok = true;
    switch (event->kind) {
    case GLINT_TURN_REASONING:
        ok = glint_kept_append(&turn->reasoning, event->text, event->n);
        break;
    case GLINT_TURN_CONTENT:
        ok = glint_kept_append(&turn->content, event->text, event->n);
        break;
    case GLINT_TURN_CALL:
        ok = begin_call(turn, event);
        break;
    case GLINT_TURN_ARGUMENTS:
        if (turn->n_calls != 0)
            ok =
                glint_kept_append(&turn->calls[turn->n_calls - 1].arguments, event->text, event->n);
        break;
    case GLINT_TURN_FINISH:
        turn->reason = event->reason;
        break;
    case GLINT_TURN_REMAINS:
        break; // part of no message
    }
    turn->failed = turn->failed || !ok;
}

static void print_member(const char *key, const struct glint_kept_text *text, FILE *out) {
    fprintf(out, "\"%s\":", key);
    glint_json_out_string(out, text->data ? text->data : "", text->n);
}

void glint_kept_turn_print(const struct glint_kept_turn *turn, FILE *out) {
    print_member("reasoning", &turn->reasoning, out);
    fputc(',', out);
    print_member("content", &turn->content, out);
    fputs(",\"tool_calls\":[", out);
    for (size_t i = 0; i < turn->n_calls; i++) {
        const struct glint_kept_text *arguments = &turn->calls[i].arguments;
        fputs(i == 0 ? "{" : ",{", out);
        print_member("name", &turn->calls[i].name, out);
        fprintf(out, ",\"arguments\":%s}", arguments->data ? arguments->data : "{}");
    }
    fputc(']', out);
}

void glint_kept_turn_fini(struct glint_kept_turn *turn) {
    free(turn->reasoning.data);
    free(turn->content.data);
    for (size_t i = 0; i < turn->n_calls; i++) {
        free(turn->calls[i].name.data);
        free(turn->calls[i].arguments.data);
    }
    free(turn->calls);
    *turn = (struct glint_kept_turn){.calls = NULL};
}
