// SPDX-License-Identifier: Apache-2.0
// talk.h — the state of `glint chat`: the conversation, the session that holds its tokens, and
// the person at the terminal.
#ifndef GLINT_APPS_TALK_H
#define GLINT_APPS_TALK_H

#include "album.h"
#include "answer_args.h"
#include "answer_view.h"
#include "dialog.h"
#include "engine_args.h"
#include "line_editor.h"

struct glint_talk {
    const struct glint_command *command;
    struct glint_engine_args args;
    struct glint_answer_args how;
    bool no_history;
    struct glint_engine *engine;
    struct glint_session *session;
    struct glint_chat *chat;
    struct glint_dialog dialog;
    struct glint_album album;         // pictures of all messages, then those of the next one
    struct glint_dialog_message next; // its pictures, given by /image
    struct glint_answer_view view;
    struct glint_line_editor *editor;
    char *initial;      // owned: text that the next message starts from, or NULL
    uint64_t n_answers; // so far, taken back ones included
    uint64_t n_read, n_reused, n_written;
    double read_ms, written_ms;
    bool leave;
};

// A note to the person, on standard error; not in a pipe with -q.
void glint_talk_note(struct glint_talk *talk, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// talk_input.c: reads a message, of one line or several, onto an empty text; from talk->initial on.
enum glint_line_result glint_talk_read(struct glint_talk *talk, const char *prompt,
                                       struct glint_kept_text *text);

// talk_pictures.c: adds a picture or a video to the next message. False after a note.
bool glint_talk_add_picture(struct glint_talk *talk, const char *path, bool video);
// Adds the user's message, with the next message's pictures and those whose paths are in the text.
// False after a note, with nothing changed.
bool glint_talk_add_message(struct glint_talk *talk, const char *text, size_t n);
// The next message has no pictures any more; the album's owner drops them there.
void glint_talk_forget_next(struct glint_talk *talk);
// Keeps the first n messages and their pictures; those of the next one go too.
void glint_talk_cut(struct glint_talk *talk, size_t n);

// talk_answer.c: lets the model answer the conversation as it stands, and whoever is there answer
// its calls. False when there is no answer: the conversation then ends in the user's message.
bool glint_talk_answer(struct glint_talk *talk);

// talk_command.c: the names, for completion; and does what a line that begins with one says.
extern const char *const glint_talk_commands[];
// Whether the line begins with the name of one.
bool glint_talk_names_command(const char *line);
// False when the line is no command.
bool glint_talk_command(struct glint_talk *talk, char *line);

#endif
