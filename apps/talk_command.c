// SPDX-License-Identifier: Apache-2.0
// talk_command.c — the lines of a chat that begin with a slash.
#include "talk.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void glint_talk_note(struct glint_talk *talk, const char *format, ...) {
    char text[4096];
    struct glint_terminal *notes = &talk->view.notes;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    glint_terminal_style(notes, GLINT_STYLE_DIM);
    glint_terminal_put(notes, text, strlen(text));
    glint_terminal_flush(notes);
    glint_terminal_style(notes, GLINT_STYLE_PLAIN);
    glint_terminal_end_line(notes);
}

static void do_help(struct glint_talk *talk, char *rest);

// The conversation with a change: rendered once to see whether the template takes it. What is
// wrong is told with the file that it came from; NULL when it was typed.
static bool is_sound(struct glint_talk *talk, const struct glint_dialog *dialog, const char *path) {
    struct glint_ids ids = {0};
    struct glint_error error = {.status = GLINT_OK};
    enum glint_turn_start start;
    enum glint_status status =
        glint_dialog_prompt(dialog, talk->chat, talk->engine, &ids, &start, &error);
    glint_ids_free(&ids);
    if (status != GLINT_OK)
        glint_talk_note(talk, "%s%s%s", path ? path : "", path ? ": " : "", error.text);
    return status == GLINT_OK;
}

// Sets a text of the dialog, unless the template then refuses.
static void change(struct glint_talk *talk, char **field, const char *value, const char *what) {
    char *old = *field;
    *field = NULL;
    if (glint_dialog_set(field, value) && is_sound(talk, &talk->dialog, NULL)) {
        glint_talk_note(talk, "%s: %s", what, value ? value : "the template's default");
        free(old);
        return;
    }
    free(*field);
    *field = old;
}

static void do_system(struct glint_talk *talk, char *rest) {
    if (!rest[0])
        glint_talk_note(talk, "system message: %s",
                        talk->dialog.system ? talk->dialog.system : "the template's default");
    else
        change(talk, &talk->dialog.system, strcmp(rest, "-") == 0 ? NULL : rest, "system message");
}

static void do_effort(struct glint_talk *talk, char *rest) {
    if (!rest[0])
        glint_talk_note(talk, "effort: %s (low, medium, high or xhigh)",
                        talk->dialog.effort ? talk->dialog.effort : "the template's default");
    else
        change(talk, &talk->dialog.effort, rest, "effort");
}

static void do_tools(struct glint_talk *talk, char *rest) {
    struct glint_kept_text old = talk->dialog.tools;
    if (!rest[0]) {
        glint_talk_note(talk, "tools: %s", old.n ? old.data : "none (/tools FILE declares them)");
        return;
    }
    struct glint_error error;
    talk->dialog.tools = (struct glint_kept_text){.data = NULL};
    if (strcmp(rest, "-") != 0)
        talk->dialog.tools.data = glint_read_text(rest, &talk->dialog.tools.n, &error);
    bool loaded = strcmp(rest, "-") == 0 || talk->dialog.tools.data;
    if (!loaded)
        glint_talk_note(talk, "%s", error.text);
    if (loaded && is_sound(talk, &talk->dialog, rest)) {
        free(old.data);
        glint_talk_note(talk,
                        talk->dialog.tools.n
                            ? "tools of %s: when the model calls one, you give its result"
                            : "no tools",
                        rest);
        return;
    }
    free(talk->dialog.tools.data);
    talk->dialog.tools = old;
}

static void do_image(struct glint_talk *talk, char *rest) {
    if (rest[0])
        glint_talk_add_picture(talk, rest, false);
    else
        glint_talk_note(talk, "/image needs a file name; a path in the message itself does too");
}

static void do_video(struct glint_talk *talk, char *rest) {
    if (rest[0])
        glint_talk_add_picture(talk, rest, true);
    else
        glint_talk_note(talk, "/video needs a file name; a path in the message itself does too");
}

static void do_save(struct glint_talk *talk, char *rest) {
    struct glint_error error = {.status = GLINT_OK};
    if (!rest[0])
        glint_talk_note(talk, "/save needs a file name");
    else if (glint_dialog_save(&talk->dialog, rest, glint_engine_info(talk->engine).model_path,
                               &error) == GLINT_OK)
        glint_talk_note(talk, "saved %zu messages to %s", talk->dialog.n_messages, rest);
    else
        glint_talk_note(talk, "%s", error.text);
}

// The pictures of a loaded conversation, after those there are. False after a note.
static bool open_pictures(struct glint_talk *talk, const struct glint_dialog *loaded) {
    for (size_t i = 0; i < loaded->n_messages; i++) {
        const struct glint_dialog_message *message = &loaded->messages[i];
        for (size_t k = 0; k < message->n_pictures; k++) {
            struct glint_error error = {.status = GLINT_OK};
            if (glint_album_add(&talk->album, message->pictures[k].path, message->pictures[k].video,
                                &error) != GLINT_OK) {
                glint_talk_note(talk, "messages[%zu]: %s", i, error.text);
                return false;
            }
        }
    }
    return true;
}

static void do_load(struct glint_talk *talk, char *rest) {
    struct glint_dialog loaded;
    struct glint_error error = {.status = GLINT_OK};
    if (!rest[0]) {
        glint_talk_note(talk, "/load needs a file name");
        return;
    }
    if (glint_dialog_load(&loaded, rest, &error) != GLINT_OK) {
        glint_talk_note(talk, "%s", error.text);
        return;
    }
    size_t before = talk->album.n;
    if (!is_sound(talk, &loaded, rest) || !open_pictures(talk, &loaded)) {
        glint_album_cut(&talk->album, before);
        glint_dialog_fini(&loaded);
        return;
    }
    glint_album_drop(&talk->album, before);
    glint_talk_forget_next(talk);
    glint_dialog_fini(&talk->dialog);
    talk->dialog = loaded;
    glint_talk_note(talk, "%zu messages from %s", loaded.n_messages, rest);
}

static void do_retry(struct glint_talk *talk, char *rest) {
    size_t last = glint_dialog_last_user(&talk->dialog);
    (void)rest;
    if (last == talk->dialog.n_messages) {
        glint_talk_note(talk, "there is no question yet");
        return;
    }
    glint_talk_cut(talk, last + 1);
    glint_talk_answer(talk);
}

// Takes the messages from i on back; its text and pictures become those of the next one.
static void take_back(struct glint_talk *talk, size_t i) {
    struct glint_dialog_message message = talk->dialog.messages[i];
    talk->dialog.messages[i] = (struct glint_dialog_message){.role = message.role};
    glint_talk_cut(talk, i);
    free(talk->initial);
    talk->initial = message.text.data;
    for (size_t k = 0; k < message.n_pictures; k++) {
        if (message.pictures[k].begin == message.pictures[k].end) // not by its path in the text
            glint_talk_add_picture(talk, message.pictures[k].path, message.pictures[k].video);
        free(message.pictures[k].path);
    }
    free(message.pictures);
    free(message.json.data);
    free(message.ids);
}

static void do_edit(struct glint_talk *talk, char *rest) {
    size_t last = glint_dialog_last_user(&talk->dialog);
    if (last == talk->dialog.n_messages) {
        glint_talk_note(talk, "there is no message to edit yet");
        return;
    }
    take_back(talk, last);
    if (rest[0]) {
        free(talk->initial);
        talk->initial = NULL;
        if (glint_talk_add_message(talk, rest, strlen(rest)))
            glint_talk_answer(talk);
    } else if (!glint_line_editor_is_interactive(talk->editor)) {
        glint_talk_note(talk, "the last message is taken back");
    }
}

static void do_clear(struct glint_talk *talk, char *rest) {
    (void)rest;
    glint_talk_cut(talk, 0);
    glint_talk_note(talk, "a new conversation");
}

static void do_stats(struct glint_talk *talk, char *rest) {
    struct glint_engine_info info = glint_engine_info(talk->engine);
    (void)rest;
    glint_talk_note(
        talk,
        "model     %s\ndevice    %s (%s), %d threads\nmessages  %zu\ncontext   %d of %d tokens\n"
        "read      %llu tokens, %.1f tok/s (%llu more were held already)\n"
        "written   %llu tokens, %.1f tok/s",
        info.model_path, info.device, info.tier, info.n_threads, talk->dialog.n_messages,
        glint_session_length(talk->session), info.n_context, (unsigned long long)talk->n_read,
        glint_per_second((double)talk->n_read, talk->read_ms), (unsigned long long)talk->n_reused,
        (unsigned long long)talk->n_written,
        glint_per_second((double)talk->n_written, talk->written_ms));
}

static void do_exit(struct glint_talk *talk, char *rest) {
    (void)rest;
    talk->leave = true;
}

static const struct {
    const char *name, *arg, *help;
    void (*run)(struct glint_talk *talk, char *rest);
} rows[] = {
    {"/help", "", "this list", do_help},
    {"/image", "FILE", "adds a picture to the next message", do_image},
    {"/video", "FILE", "adds a video to the next message", do_video},
    {"/system", "TEXT", "sets the system message; - for the default", do_system},
    {"/effort", "LEVEL", "reasoning: low, medium, high or xhigh", do_effort},
    {"/tools", "FILE", "declares tools (a JSON array); - for none", do_tools},
    {"/retry", "", "answers the last message again", do_retry},
    {"/edit", "[TEXT]", "takes the last message back, to change it", do_edit},
    {"/save", "FILE", "writes the conversation as JSON", do_save},
    {"/load", "FILE", "goes on with a saved conversation", do_load},
    {"/clear", "", "begins a new conversation", do_clear},
    {"/stats", "", "model, context and speed", do_stats},
    {"/exit", "", "leaves, as do Ctrl-D and Ctrl-C twice", do_exit},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

const char *const glint_talk_commands[] = {
    "/help", "/image", "/video", "/system", "/effort", "/tools", "/retry",
    "/edit", "/save",  "/load",  "/clear",  "/stats",  "/exit",  NULL,
};

static void do_help(struct glint_talk *talk, char *rest) {
    (void)rest;
    for (int i = 0; i < N_ROWS; i++)
        glint_talk_note(talk, "  %-7s %-7s %s", rows[i].name, rows[i].arg, rows[i].help);
    glint_talk_note(talk, "Alt-Enter or \\ at the end of a line goes on in the next one, \"\"\" "
                          "begins and ends a long text,\n// begins a message with a slash. Ctrl-C "
                          "stops an answer.");
}

static const char *real_name(const char *word) {
    static const char *const others[][2] = {
        {"/?", "/help"},      {"/quit", "/exit"}, {"/bye", "/exit"},
        {"/regen", "/retry"}, {"/new", "/clear"}, {"/think", "/effort"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(word, others[i][0]) == 0)
            return others[i][1];
    return word;
}

enum { WORD_BYTES = 32 };

// The line's first word when it looks like a command, and its length; a long or many-parted word
// is a path, and gives 0.
static size_t first_word(const char *line, char word[WORD_BYTES]) {
    size_t n = strcspn(line, " \t\n");
    if (line[0] != '/' || n >= WORD_BYTES || memchr(line + 1, '/', n - 1))
        return 0;
    memcpy(word, line, n);
    word[n] = 0;
    return n;
}

bool glint_talk_names_command(const char *line) {
    char word[WORD_BYTES];
    if (first_word(line, word) == 0)
        return false;
    for (int i = 0; i < N_ROWS; i++)
        if (strcmp(real_name(word), rows[i].name) == 0)
            return true;
    return false;
}

bool glint_talk_command(struct glint_talk *talk, char *line) {
    char word[WORD_BYTES];
    size_t n = first_word(line, word);
    if (n == 0)
        return false;
    char *rest = line + n + strspn(line + n, " \t\n");
    size_t n_rest = strlen(rest);
    while (n_rest > 0 && strchr(" \t\n", rest[n_rest - 1]))
        rest[--n_rest] = 0;
    for (int i = 0; i < N_ROWS; i++) {
        if (strcmp(real_name(word), rows[i].name) == 0) {
            rows[i].run(talk, rest);
            return true;
        }
    }
    glint_talk_note(talk, "%s is no command: /help lists them, // sends a text that begins with /",
                    word);
    return true;
}
