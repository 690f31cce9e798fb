// SPDX-License-Identifier: Apache-2.0
// dialog.h — a conversation as it grows: the messages (each as JSON), system message, effort and
// tools, and the files it is saved to and loaded from.
#ifndef GLINT_APPS_DIALOG_H
#define GLINT_APPS_DIALOG_H

#include "kept_turn.h"

#include <glint/glint.h>

enum glint_dialog_role { GLINT_DIALOG_USER, GLINT_DIALOG_ASSISTANT, GLINT_DIALOG_TOOL };

struct glint_dialog_picture { // in a user's message
    char *path;
    bool video;
    size_t begin, end; // bytes of the text that it stands for; an empty range stands before it
};

struct glint_dialog_message {
    enum glint_dialog_role role;
    struct glint_kept_text json;           // the message as the template takes it
    struct glint_kept_text text;           // what a user typed, paths of pictures included
    struct glint_dialog_picture *pictures; // [n_pictures] ascending
    size_t n_pictures;
    int32_t *ids; // [n_ids] tokens the model wrote it with; NULL: unknown
    size_t n_ids;
};

struct glint_dialog {             // all-zero is a valid empty one
    char *system;                 // owned; NULL: the template's default
    char *effort;                 // owned; NULL: the template's default
    char date[16];                // stays, so that the prompt's beginning does
    struct glint_kept_text tools; // JSON array; empty: none
    struct glint_dialog_message *messages;
    size_t n_messages;
    size_t n_calls; // for the ids of calls
};

void glint_dialog_init(struct glint_dialog *dialog);
void glint_dialog_fini(struct glint_dialog *dialog);
// Keeps the first n messages.
void glint_dialog_cut(struct glint_dialog *dialog, size_t n);
// Pictures of the first n messages.
size_t glint_dialog_pictures(const struct glint_dialog *dialog, size_t n);
// Index of the last user message; n_messages when there is none.
size_t glint_dialog_last_user(const struct glint_dialog *dialog);

// The functions below are false when out of memory.
bool glint_dialog_set(char **field, const char *value); // NULL or a copy
// An empty message at the end; NULL when out of memory.
struct glint_dialog_message *glint_dialog_add(struct glint_dialog *dialog,
                                              enum glint_dialog_role role);
bool glint_dialog_add_picture(struct glint_dialog_message *message,
                              const struct glint_dialog_picture *picture);
// pictures: [n_pictures], copied.
bool glint_dialog_add_user(struct glint_dialog *dialog, struct glint_json_text text,
                           const struct glint_dialog_picture *pictures, size_t n_pictures);
// ids: the answer's, when they are the whole turn; n_ids 0 otherwise.
bool glint_dialog_add_answer(struct glint_dialog *dialog, const struct glint_kept_turn *turn,
                             const int32_t *ids, size_t n_ids);
// The result of call i_call of the n_calls that the last assistant message made.
bool glint_dialog_add_result(struct glint_dialog *dialog, const struct glint_kept_turn *turn,
                             size_t i_call, struct glint_json_text result);

// The prompt's ids, for glint_ids_free.
enum glint_status glint_dialog_prompt(const struct glint_dialog *dialog,
                                      const struct glint_chat *chat,
                                      const struct glint_engine *engine, struct glint_ids *ids,
                                      enum glint_turn_start *start, struct glint_error *err);

// For its owner alone; whole or, as on a full disk, not at all. The model's file is refused.
enum glint_status glint_dialog_save(const struct glint_dialog *dialog, const char *path,
                                    const char *model_path, struct glint_error *err);
// Into an uninitialized dialog; empty on failure. Whether its messages make sense shows when they
// are rendered.
enum glint_status glint_dialog_load(struct glint_dialog *dialog, const char *path,
                                    struct glint_error *err);

#endif
