// SPDX-License-Identifier: Apache-2.0
// dialog.c — messages in, prompt out.
#include "dialog.h"

#include "json_out.h"
#include "prompt_ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void glint_dialog_init(struct glint_dialog *dialog) {
    *dialog = (struct glint_dialog){.messages = NULL};
    glint_prompt_today(dialog->date);
}

static void message_fini(struct glint_dialog_message *message) {
    free(message->json.data);
    free(message->text.data);
    for (size_t i = 0; i < message->n_pictures; i++)
        free(message->pictures[i].path);
    free(message->pictures);
    free(message->ids);
}

void glint_dialog_cut(struct glint_dialog *dialog, size_t n) {
    while (dialog->n_messages > n)
        message_fini(&dialog->messages[--dialog->n_messages]);
}

void glint_dialog_fini(struct glint_dialog *dialog) {
    glint_dialog_cut(dialog, 0);
    free(dialog->messages);
    free(dialog->system);
    free(dialog->effort);
    free(dialog->tools.data);
    *dialog = (struct glint_dialog){.messages = NULL};
}

size_t glint_dialog_pictures(const struct glint_dialog *dialog, size_t n) {
    size_t n_pictures = 0;
    for (size_t i = 0; i < n; i++)
        n_pictures += dialog->messages[i].n_pictures;
    return n_pictures;
}

size_t glint_dialog_last_user(const struct glint_dialog *dialog) {
    size_t i = dialog->n_messages;
    while (i > 0 && dialog->messages[i - 1].role != GLINT_DIALOG_USER)
        i--;
    return i > 0 ? i - 1 : dialog->n_messages;
}

bool glint_dialog_set(char **field, const char *value) {
    char *copy = value ? strdup(value) : NULL;
    if (value && !copy)
        return false;
    free(*field);
    *field = copy;
    return true;
}

struct glint_dialog_message *glint_dialog_add(struct glint_dialog *dialog,
                                              enum glint_dialog_role role) {
    struct glint_dialog_message *messages =
        realloc(dialog->messages, (dialog->n_messages + 1) * sizeof *messages);
    if (!messages)
        return NULL;
    dialog->messages = messages;
    messages[dialog->n_messages] = (struct glint_dialog_message){.role = role};
    return &messages[dialog->n_messages++];
}

// Closes the stream over a message's JSON; without it the message goes again.
static bool done(struct glint_dialog *dialog, FILE *out) {
    struct glint_dialog_message *last = &dialog->messages[dialog->n_messages - 1];
    if (out && fclose(out) == 0 && last->json.data)
        return true;
    glint_dialog_cut(dialog, dialog->n_messages - 1);
    return false;
}

bool glint_dialog_add_picture(struct glint_dialog_message *message,
                              const struct glint_dialog_picture *picture) {
    struct glint_dialog_picture *pictures =
        realloc(message->pictures, (message->n_pictures + 1) * sizeof *pictures);
    char *path = strdup(picture->path);
    if (pictures)
        message->pictures = pictures;
    if (!pictures || !path) {
        free(path);
        return false;
    }
    pictures[message->n_pictures++] =
        (struct glint_dialog_picture){path, picture->video, picture->begin, picture->end};
    return true;
}

static void put_text_part(FILE *out, const char *separator, const char *text, size_t n) {
    if (n == 0)
        return;
    fprintf(out, "%s{\"type\":\"text\",\"text\":", separator);
    glint_json_out_string(out, text, n);
    fputc('}', out);
}

// A message with each picture in its place of the text. The path is for loading it again.
static void put_parts(FILE *out, struct glint_json_text text,
                      const struct glint_dialog_picture *pictures, size_t n_pictures) {
    size_t at = 0;
    fputs("{\"role\":\"user\",\"content\":[", out);
    for (size_t i = 0; i < n_pictures; i++) {
        bool text_first = pictures[i].begin > at;
        put_text_part(out, i > 0 ? "," : "", text.data + at, pictures[i].begin - at);
        fputs(i > 0 || text_first ? "," : "", out);
        fprintf(out, "{\"type\":\"%s\",\"path\":", pictures[i].video ? "video" : "image");
        glint_json_out_string(out, pictures[i].path, strlen(pictures[i].path));
        fputc('}', out);
        at = pictures[i].end;
    }
    put_text_part(out, ",", text.data + at, text.n - at);
    fputs("]}", out);
}

bool glint_dialog_add_user(struct glint_dialog *dialog, struct glint_json_text text,
                           const struct glint_dialog_picture *pictures, size_t n_pictures) {
    struct glint_dialog_message *message = glint_dialog_add(dialog, GLINT_DIALOG_USER);
    if (!message)
        return false;
    bool ok = glint_kept_append(&message->text, text.data, text.n);
    for (size_t i = 0; i < n_pictures && ok; i++)
        ok = glint_dialog_add_picture(message, &pictures[i]);
    FILE *out = ok ? open_memstream(&message->json.data, &message->json.n) : NULL;
    if (out && n_pictures > 0)
        put_parts(out, text, pictures, n_pictures);
    else if (out)
        glint_prompt_message(out, "user", "", text);
    return done(dialog, out);
}

static void put_member(FILE *out, const char *key, const struct glint_kept_text *text) {
    fprintf(out, ",\"%s\":", key);
    glint_json_out_string(out, text->data ? text->data : "", text->n);
}

bool glint_dialog_add_answer(struct glint_dialog *dialog, const struct glint_kept_turn *turn,
                             const int32_t *ids, size_t n_ids) {
    struct glint_dialog_message *message = glint_dialog_add(dialog, GLINT_DIALOG_ASSISTANT);
    if (!message)
        return false;
    FILE *out = open_memstream(&message->json.data, &message->json.n);
    if (out) {
        fputs("{\"role\":\"assistant\"", out);
        if (turn->reasoning.n != 0)
            put_member(out, "reasoning_content", &turn->reasoning);
        put_member(out, "content", &turn->content);
        for (size_t i = 0; i < turn->n_calls; i++) {
            fprintf(out, "%s{\"id\":\"call_%zu\",\"type\":\"function\",\"function\":{\"name\":",
                    i == 0 ? ",\"tool_calls\":[" : ",", dialog->n_calls + i);
            glint_json_out_string(out, turn->calls[i].name.data, turn->calls[i].name.n);
            fprintf(out, ",\"arguments\":%s}}", turn->calls[i].arguments.data);
        }
        fputs(turn->n_calls ? "]}" : "}", out);
    }
    if (!done(dialog, out))
        return false;
    dialog->n_calls += turn->n_calls;
    message = &dialog->messages[dialog->n_messages - 1];
    message->ids = n_ids ? malloc(n_ids * sizeof *ids) : NULL;
    if (message->ids) {
        memcpy(message->ids, ids, n_ids * sizeof *ids);
        message->n_ids = n_ids;
    }
    return true;
}

bool glint_dialog_add_result(struct glint_dialog *dialog, const struct glint_kept_turn *turn,
                             size_t i_call, struct glint_json_text result) {
    struct glint_dialog_message *message = glint_dialog_add(dialog, GLINT_DIALOG_TOOL);
    if (!message)
        return false;
    FILE *out = open_memstream(&message->json.data, &message->json.n);
    if (out) {
        fprintf(out, "{\"role\":\"tool\",\"tool_call_id\":\"call_%zu\"",
                dialog->n_calls - turn->n_calls + i_call);
        put_member(out, "name", &turn->calls[i_call].name);
        fputs(",\"content\":", out);
        glint_json_out_string(out, result.data, result.n);
        fputc('}', out);
    }
    return done(dialog, out);
}

static void put_messages(const struct glint_dialog *dialog, FILE *out) {
    const char *separator = "";
    fputc('[', out);
    if (dialog->system) {
        struct glint_json_text system = {dialog->system, strlen(dialog->system)};
        glint_prompt_message(out, "system", "", system);
        separator = ",\n";
    }
    for (size_t i = 0; i < dialog->n_messages; i++) {
        fputs(separator, out);
        fwrite(dialog->messages[i].json.data, 1, dialog->messages[i].json.n, out);
        separator = ",\n";
    }
    fputc(']', out);
}

// The turns whose ids are known, for replaying; NULL when there are none or memory is out, which
// costs no more than evaluating them again.
static struct glint_chat_replay *replays_of(const struct glint_dialog *dialog, size_t *n) {
    struct glint_chat_replay *replays = calloc(dialog->n_messages + 1, sizeof *replays);
    size_t index = dialog->system ? 1 : 0;
    *n = 0;
    for (size_t i = 0; replays && i < dialog->n_messages; i++) {
        const struct glint_dialog_message *message = &dialog->messages[i];
        if (message->n_ids != 0)
            replays[(*n)++] = (struct glint_chat_replay){index + i, message->ids, message->n_ids};
    }
    return replays;
}

enum glint_status glint_dialog_prompt(const struct glint_dialog *dialog,
                                      const struct glint_chat *chat,
                                      const struct glint_engine *engine, struct glint_ids *ids,
                                      enum glint_turn_start *start, struct glint_error *err) {
    struct glint_chat_request request = {.tools = {dialog->tools.data, dialog->tools.n},
                                         .effort = dialog->effort,
                                         .date = dialog->date,
                                         .normalise = true};
    char *messages = NULL;
    FILE *out = open_memstream(&messages, &request.messages.n);
    if (out)
        put_messages(dialog, out);
    if (!out || fclose(out) != 0) {
        snprintf(err->text, sizeof err->text, "out of memory");
        return GLINT_E_NOMEM;
    }
    request.messages.data = messages;
    struct glint_chat_replay *replays = replays_of(dialog, &request.n_replays);
    request.replays = replays;
    enum glint_status status = glint_prompt_ids(chat, engine, &request, ids, start, err);
    free(replays);
    free(messages);
    return status;
}
