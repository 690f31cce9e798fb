// SPDX-License-Identifier: Apache-2.0
// talk_answer.c — one answer in a conversation: rendered, generated, shown, kept; calls of tools
// are put to the person, whose replies are the results.
#include "talk.h"

#include "interrupt.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CALL_ROUNDS = 100 };

struct turn_sink { // what an answer's events go to
    struct glint_answer_view *view;
    struct glint_kept_turn kept;
};

static void on_event(void *user, const struct glint_turn_event *event) {
    struct turn_sink *sink = user;
    glint_kept_turn_put(&sink->kept, event);
    glint_answer_view_put(sink->view, event);
}

// [ read 33 (458 held) at 902, wrote 25 at 45.8 tok/s, drafts 20/25 | 515/8192 ]
// Short enough for 80 columns, mostly.
static void show_speed(struct glint_talk *talk, const struct glint_answer *answer,
                       size_t n_prompt) {
    int n_read = (int)n_prompt - answer->n_reused;
    char held[32] = "", drafted[64] = "";
    const char *end = "";
    if (talk->args.quiet)
        return;
    if (answer->n_reused > 0)
        snprintf(held, sizeof held, " (%d held)", answer->n_reused);
    if (strcmp(answer->finish, "length") == 0)
        end = " | cut by the limit";
    if (strcmp(answer->finish, "interrupt") == 0)
        end = " | stopped";
    if (answer->draft.n_round > 0)
        snprintf(drafted, sizeof drafted, ", drafts %lld/%lld", (long long)answer->draft.n_accepted,
                 (long long)answer->draft.n_proposed);
    glint_talk_note(talk, "[ read %d%s at %.0f, wrote %d at %.1f tok/s%s | %d/%d%s ]", n_read, held,
                    glint_per_second(n_read, answer->prefill_ms), answer->n,
                    glint_per_second(answer->n, answer->decode_ms), drafted,
                    glint_session_length(talk->session), glint_engine_info(talk->engine).n_context,
                    end);
}

static void count(struct glint_talk *talk, const struct glint_answer *answer, size_t n_prompt) {
    talk->n_read += n_prompt - (size_t)answer->n_reused;
    talk->n_reused += (size_t)answer->n_reused;
    talk->n_written += (size_t)answer->n;
    talk->read_ms += answer->prefill_ms;
    talk->written_ms += answer->decode_ms;
}

// Every answer draws from a seed of its own, so that /retry gives another one.
static enum glint_status set_sampler(struct glint_talk *talk, struct glint_error *error) {
    struct glint_sampler_options sampling = talk->args.sampling;
    sampling.seed += talk->n_answers++;
    return glint_session_set_sampler(talk->session, &sampling, error);
}

static enum glint_status generate(struct glint_talk *talk, struct turn_sink *sink,
                                  struct glint_answer *answer, struct glint_error *error) {
    struct glint_answer_options options = talk->how.options;
    struct glint_ids prompt = {0};
    options.turn.on_event = on_event;
    options.turn.user = sink;
    options.turn.tools = (struct glint_json_text){talk->dialog.tools.data, talk->dialog.tools.n};
    enum glint_status status = glint_dialog_prompt(&talk->dialog, talk->chat, talk->engine, &prompt,
                                                   &options.turn.start, error);
    if (status == GLINT_OK)
        status = glint_album_expand(&talk->album, talk->engine, &prompt, error);
    if (status == GLINT_OK)
        status =
            glint_session_set_pictures(talk->session, talk->album.pictures, talk->album.n, error);
    if (status == GLINT_OK)
        status = set_sampler(talk, error);
    if (status == GLINT_OK)
        status =
            glint_answer_generate(answer, talk->engine, talk->session, &prompt, &options, error);
    glint_answer_view_end(&talk->view);
    if (status == GLINT_OK && sink->kept.failed) {
        snprintf(error->text, sizeof error->text, "out of memory");
        status = GLINT_E_NOMEM;
    }
    if (status == GLINT_OK) {
        show_speed(talk, answer, prompt.n);
        count(talk, answer, prompt.n);
    }
    glint_ids_free(&prompt);
    return status;
}

static void report(struct glint_talk *talk, enum glint_status status,
                   const struct glint_error *error) {
    if (status == GLINT_E_CANCELLED)
        glint_talk_note(talk, "stopped before the answer; /retry asks again");
    else if (status == GLINT_E_LIMIT)
        glint_talk_note(talk,
                        "%s\nThe conversation no longer fits: /clear starts a new one, /edit "
                        "shortens the last message.",
                        error->text);
    else
        glint_report(talk->command, error);
}

// One call's result onto an empty text. A command is no result: it is asked for again.
static bool ask_result(struct glint_talk *talk, const struct glint_kept_call *call,
                       struct glint_kept_text *text) {
    char prompt[200];
    snprintf(prompt, sizeof prompt, "result of %.128s> ", call->name.data);
    for (char *c = prompt; *c; c++)
        if ((unsigned char)*c < ' ') // the name is the model's
            *c = '?';
    for (;;) {
        text->n = 0;
        glint_interrupt_take();
        if (glint_talk_read(talk, prompt, text) != GLINT_LINE_TEXT)
            return false;
        if (!glint_talk_names_command(text->data))
            return true;
        glint_talk_note(talk, "the call waits for its result, and a command is none: Ctrl-C takes "
                              "the call back");
    }
}

// Puts each call to the person. False when they do not want to answer.
static bool ask_results(struct glint_talk *talk, const struct glint_kept_turn *turn) {
    if (glint_line_editor_is_interactive(talk->editor))
        glint_talk_note(talk, "type what the call gives; Ctrl-C takes it back");
    for (size_t i = 0; i < turn->n_calls; i++) {
        struct glint_kept_text text = {.data = NULL};
        if (!ask_result(talk, &turn->calls[i], &text)) {
            free(text.data);
            glint_talk_note(talk, "no result: the call is taken back; /retry asks again");
            return false;
        }
        bool escaped = strncmp(text.data, "//", 2) == 0 && glint_talk_names_command(text.data + 1);
        struct glint_json_text result = {text.data + escaped, text.n - escaped};
        bool ok = glint_dialog_add_result(&talk->dialog, turn, i, result);
        free(text.data);
        if (!ok)
            return false;
    }
    return true;
}

// One answer; *again when it ended in calls that now have results.
static bool answer_once(struct glint_talk *talk, bool *again) {
    struct turn_sink sink = {.view = &talk->view};
    struct glint_answer answer = {0};
    struct glint_error error = {.status = GLINT_OK};
    enum glint_status status = generate(talk, &sink, &answer, &error);
    const struct glint_kept_turn *kept = &sink.kept;
    bool said = kept->content.n != 0 || kept->n_calls != 0 || answer.whole;
    size_t before = talk->dialog.n_messages;
    *again = false;
    if (status != GLINT_OK) {
        report(talk, status, &error);
    } else if (said) {
        said = glint_dialog_add_answer(&talk->dialog, kept, answer.ids,
                                       answer.whole ? (size_t)answer.n : 0);
        bool called = said && kept->n_calls != 0 && strcmp(answer.finish, "tool_calls") == 0;
        *again = called && ask_results(talk, kept);
        if (called && !*again) {
            glint_dialog_cut(&talk->dialog, before);
            said = false;
        }
    }
    if (strcmp(answer.finish ? answer.finish : "", "interrupt") == 0 && !said)
        glint_talk_note(talk, "stopped before the answer; /retry asks again");
    glint_answer_fini(&answer);
    glint_kept_turn_fini(&sink.kept);
    return status == GLINT_OK && said;
}

bool glint_talk_answer(struct glint_talk *talk) {
    bool again = true, said = false;
    for (int i = 0; i < MAX_CALL_ROUNDS && again; i++)
        said = answer_once(talk, &again);
    return said;
}
