// SPDX-License-Identifier: Apache-2.0
// cmd_chat.c — `glint chat`: a conversation in the terminal, or in a pipe, a message a line. The
// answers alone go to stdout.
#include "cmd.h"
#include "interrupt.h"
#include "prompt_ids.h"
#include "talk.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_NO_HISTORY = 1, OPT_HIDE_THINKING, OPT_NO_WRAP };
enum { EXIT_INTERRUPTED = 130 };

static const struct glint_option options[] = {
    {OPT_NO_HISTORY, {"no-history"}, NULL, "do not keep what is typed"},
    {OPT_HIDE_THINKING, {"hide-thinking"}, NULL, "do not show reasoning"},
    {OPT_NO_WRAP, {"no-wrap"}, NULL, "do not break long lines at spaces"},
    GLINT_ALBUM_OPTIONS,
    GLINT_ANSWER_OPTIONS,
    GLINT_ENGINE_OPTIONS,
    GLINT_DRAFT_OPTIONS,
    GLINT_SAMPLING_OPTIONS,
    {0},
};

static const struct glint_command command = {
    "chat",
    "[-m MODEL] [--image FILE] [--tools FILE] [--effort LEVEL]",
    "A conversation with the model; /help in it lists its commands. In a pipe each line of "
    "standard\n"
    "input is a message, and standard output is the answers alone.",
    options,
};

static bool parse(struct glint_talk *talk, int argc, char **argv, int *result) {
    static struct glint_options state; // large
    glint_options_init(&state, &command, argc, argv);
    int id;
    while ((id = glint_options_next(&state)) > 0) {
        bool ok = true;
        if (id == OPT_NO_HISTORY)
            talk->no_history = true;
        else if (id == OPT_HIDE_THINKING)
            talk->view.hide_reasoning = true;
        else if (id == OPT_NO_WRAP)
            talk->view.out.wrap = talk->view.notes.wrap = false;
        else if (id >= GLINT_ARG_IMAGE)
            ok = glint_album_take(&talk->album, &state, id);
        else if (id >= GLINT_ARG_PREDICT)
            ok = glint_answer_args_take(&talk->how, &state, id);
        else
            ok = glint_engine_args_take(&talk->args, &state, id);
        if (!ok) {
            *result = GLINT_EXIT_USAGE;
            return false;
        }
    }
    if (id != GLINT_OPTIONS_END) {
        *result = glint_options_exit(id);
        return false;
    }
    return true;
}

// Model, template, session, conversation. False after printing.
static bool open_all(struct glint_talk *talk) {
    struct glint_error error = {.status = GLINT_OK};
    if (!glint_answer_args_load(&talk->how, &command))
        return false;
    enum glint_status status = glint_album_check_paths(&talk->album, &error);
    if (status == GLINT_OK && !(talk->engine = glint_engine_args_open(&talk->args, &command)))
        return false;
    if (status == GLINT_OK)
        status = glint_prompt_template(&talk->chat, talk->engine, &error);
    if (status == GLINT_OK)
        status = glint_session_open(&talk->session, talk->engine, &error);
    if (status == GLINT_OK)
        status = glint_session_set_sampler(talk->session, &talk->args.sampling, &error);
    struct glint_json_text tools = talk->how.options.turn.tools;
    bool kept = glint_dialog_set(&talk->dialog.system, talk->how.system) &&
                glint_dialog_set(&talk->dialog.effort, talk->how.effort) &&
                (!tools.data || glint_kept_append(&talk->dialog.tools, tools.data, tools.n));
    talk->editor = glint_line_editor_open(glint_talk_commands, !talk->no_history);
    if (status == GLINT_OK && (!kept || !talk->editor)) {
        snprintf(error.text, sizeof error.text, "out of memory");
        status = GLINT_E_NOMEM;
    }
    struct glint_ids ids = {0};
    enum glint_turn_start start;
    if (status == GLINT_OK) // a wrong effort or tool shows now, not with the first message
        status = glint_dialog_prompt(&talk->dialog, talk->chat, talk->engine, &ids, &start, &error);
    glint_ids_free(&ids);
    glint_answer_args_name_file(&talk->how, &error);
    if (status != GLINT_OK)
        glint_report(&command, &error);
    return status == GLINT_OK;
}

static void close_all(struct glint_talk *talk) {
    glint_line_editor_close(&talk->editor);
    glint_session_close(&talk->session);
    glint_talk_cut(talk, 0);
    glint_album_fini(&talk->album);
    glint_chat_close(&talk->chat);
    glint_engine_close(&talk->engine);
    glint_dialog_fini(&talk->dialog);
    glint_answer_args_fini(&talk->how);
    free(talk->initial);
}

static void take_message(struct glint_talk *talk, struct glint_kept_text *text) {
    const char *line = text->data;
    size_t n = text->n;
    if (strspn(line, " \t\r\n") == n)
        return;
    glint_line_editor_remember(talk->editor, line);
    if (line[0] == '/' && line[1] == '/') {
        line++; // a message that begins with a slash
        n--;
    } else if (glint_talk_command(talk, text->data)) {
        return;
    }
    if (glint_talk_add_message(talk, line, n))
        glint_talk_answer(talk);
}

static int converse(struct glint_talk *talk) {
    double last_ctrl_c = -1e9;
    // libedit shows what is between \1 with the character that follows, so none may end a prompt.
    const char *prompt = talk->view.notes.colour ? "\1\033[1m\1>\1\033[0m\1 " : "> ";
    while (!talk->leave) {
        struct glint_kept_text text = {.data = NULL};
        if (glint_interrupt_is_final() || glint_interrupt_take() > 1)
            return EXIT_INTERRUPTED;
        enum glint_line_result result = glint_talk_read(talk, prompt, &text);
        if (result == GLINT_LINE_TEXT)
            take_message(talk, &text);
        free(text.data);
        if (result == GLINT_LINE_END)
            return glint_interrupt_is_final() ? EXIT_INTERRUPTED : GLINT_EXIT_OK;
        if (result == GLINT_LINE_INTERRUPT) {
            double now = glint_now_ms();
            if (now - last_ctrl_c < 1000 || !glint_line_editor_is_interactive(talk->editor))
                return EXIT_INTERRUPTED;
            last_ctrl_c = now;
            glint_talk_note(talk, "Ctrl-C once more, Ctrl-D or /exit leaves");
        }
        if (ferror(stdout)) {
            fprintf(stderr, "glint chat: cannot write to standard output\n");
            return GLINT_EXIT_FAILED;
        }
    }
    return GLINT_EXIT_OK;
}

static void greet(struct glint_talk *talk) {
    struct glint_engine_info info = glint_engine_info(talk->engine);
    if (!glint_line_editor_is_interactive(talk->editor) || talk->args.quiet)
        return;
    glint_talk_note(talk, "context %d, %d threads (%s). /help lists the commands, Ctrl-D leaves.",
                    info.n_context, info.n_threads, info.tier);
}

int glint_cmd_chat(int argc, char **argv) {
    static struct glint_talk talk; // large, and the engine keeps a pointer into it
    int result = GLINT_EXIT_FAILED;
    memset(&talk, 0, sizeof talk);
    talk.command = &command;
    glint_engine_args_init(&talk.args);
    talk.args.seek_draft = true;
    glint_answer_args_init(&talk.how);
    glint_album_init(&talk.album, &talk.args);
    glint_answer_view_init(&talk.view);
    talk.view.call_notes = true;
    if (!parse(&talk, argc, argv, &result))
        return result;
    glint_dialog_init(&talk.dialog);
    if (open_all(&talk)) {
        glint_interrupt_watch_each();
        greet(&talk);
        bool seen = true;
        for (size_t i = 0; i < talk.album.n_paths && seen; i++)
            seen = glint_talk_add_picture(&talk, talk.album.paths[i], talk.album.is_video[i]);
        result = seen ? converse(&talk) : GLINT_EXIT_FAILED;
    }
    close_all(&talk);
    return result;
}
