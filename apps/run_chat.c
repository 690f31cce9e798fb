// SPDX-License-Identifier: Apache-2.0
// run_chat.c — one user message to a prompt, one turn's ids to an answer.
#include "run_chat.h"

#include "engine_args.h"
#include "json_out.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CONTENT, REASONING, CALLS };

#define DIM   "\033[2m"
#define PLAIN "\033[0m"

static char *messages_json(const struct glint_run_chat *chat, struct glint_json_text message,
                           size_t *n) {
    char *json = NULL;
    FILE *out = open_memstream(&json, n);
    if (!out)
        return NULL;
    fputc('[', out);
    if (chat->system) {
        fputs("{\"role\":\"system\",\"content\":", out);
        glint_json_out_string(out, chat->system, strlen(chat->system));
        fputs("},", out);
    }
    fputs("{\"role\":\"user\",\"content\":", out);
    glint_json_out_string(out, message.data, message.n);
    fputs("}]", out);
    return fclose(out) == 0 ? json : NULL;
}

static enum glint_status tokenize(const struct glint_engine *engine,
                                  const struct glint_chat_prompt *prompt, struct glint_ids *ids,
                                  struct glint_error *err) {
    struct glint_text text = {.data = prompt->data,
                              .n = prompt->n,
                              .special = true,
                              .untrusted = prompt->untrusted,
                              .n_untrusted = prompt->n_untrusted};
    return glint_tokenize(engine, &text, ids, err);
}

enum glint_status glint_run_chat_prompt(struct glint_run_chat *chat,
                                        const struct glint_command *command,
                                        const struct glint_engine *engine,
                                        struct glint_json_text message, struct glint_ids *ids,
                                        struct glint_error *err) {
    struct glint_chat *template = NULL;
    struct glint_chat_prompt prompt = {0};
    char date[16];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", localtime(&now));
    if (chat->tools_path) {
        chat->tools = glint_read_file(command, chat->tools_path, &chat->n_tools);
        if (!chat->tools) {
            snprintf(err->text, sizeof err->text, "no tools");
            return GLINT_E_IO;
        }
    }
    struct glint_chat_request request = {.tools = {chat->tools, chat->n_tools},
                                         .effort = chat->effort,
                                         .date = date,
                                         .normalise = true};
    char *messages = messages_json(chat, message, &request.messages.n);
    request.messages.data = messages;
    enum glint_status status = messages ? GLINT_OK : GLINT_E_NOMEM;
    if (status == GLINT_OK)
        status = glint_chat_open(&template, engine, err);
    if (status == GLINT_OK && !glint_chat_is_native(template)) {
        snprintf(err->text, sizeof err->text,
                 "the file's chat template is of another dialect; use --raw");
        status = GLINT_E_UNSUPPORTED;
    }
    if (status == GLINT_OK)
        status = glint_chat_prompt(template, &request, &prompt, err);
    if (status == GLINT_OK)
        status = tokenize(engine, &prompt, ids, err);
    chat->start = prompt.start;
    glint_chat_prompt_free(&prompt);
    glint_chat_close(&template);
    free(messages);
    return status;
}

static bool dims(void) {
    return isatty(STDERR_FILENO) && getenv("NO_COLOR") == NULL;
}

static void show_reasoning(struct glint_run_chat *chat, const struct glint_turn_event *event) {
    if (chat->quiet)
        return;
    if (!chat->in_reasoning && dims())
        fputs(DIM, stderr);
    chat->in_reasoning = true;
    fwrite(event->text, 1, event->n, stderr);
}

static void end_reasoning(struct glint_run_chat *chat) {
    if (chat->in_reasoning)
        fputs(dims() ? PLAIN "\n" : "\n", stderr);
    chat->in_reasoning = false;
}

static void close_call(struct glint_run_chat *chat) {
    if (chat->in_call)
        fputs("}", chat->calls);
    if (chat->in_call && !chat->keep)
        fputs("\n", chat->calls);
    chat->in_call = false;
}

static void on_event(void *user, const struct glint_turn_event *event) {
    struct glint_run_chat *chat = user;
    switch (event->kind) {
    case GLINT_TURN_REASONING:
        if (chat->keep)
            fwrite(event->text, 1, event->n, chat->reasoning);
        else
            show_reasoning(chat, event);
        break;
    case GLINT_TURN_CONTENT:
        end_reasoning(chat);
        fwrite(event->text, 1, event->n, chat->content);
        if (event->n > 0)
            chat->line_open = event->text[event->n - 1] != '\n';
        break;
    case GLINT_TURN_CALL:
        end_reasoning(chat);
        close_call(chat);
        if (chat->line_open && !chat->keep)
            fputs("\n", chat->content);
        chat->line_open = false;
        fputs(chat->keep && chat->n_calls ? ",{\"name\":" : "{\"name\":", chat->calls);
        glint_json_out_string(chat->calls, event->text, event->n);
        fputs(",\"arguments\":", chat->calls);
        chat->in_call = true;
        chat->n_calls++;
        break;
    case GLINT_TURN_ARGUMENTS:
        fwrite(event->text, 1, event->n, chat->calls);
        break;
    case GLINT_TURN_FINISH:
        close_call(chat);
        chat->finish = glint_turn_reason_name(event->reason);
        break;
    case GLINT_TURN_REMAINS:
        break; // part of no message
    }
    if (!chat->keep)
        fflush(stdout);
}

enum glint_status glint_run_chat_begin(struct glint_run_chat *chat,
                                       const struct glint_engine *engine, struct glint_error *err) {
    FILE **streams[3] = {&chat->content, &chat->reasoning, &chat->calls};
    for (int i = 0; i < 3; i++) {
        *streams[i] = chat->keep ? open_memstream(&chat->text[i], &chat->n_text[i]) : stdout;
        if (!*streams[i]) {
            snprintf(err->text, sizeof err->text, "out of memory");
            return GLINT_E_NOMEM;
        }
    }
    struct glint_turn_options options = {.tools = {chat->tools, chat->n_tools},
                                         .start = chat->start,
                                         .on_event = on_event,
                                         .user = chat};
    return glint_turn_open(&chat->turn, engine, &options, err);
}

enum glint_status glint_run_chat_put(struct glint_run_chat *chat, int32_t id, bool *done,
                                     struct glint_error *err) {
    enum glint_status status = glint_turn_put_id(chat->turn, id, err);
    *done = glint_turn_is_done(chat->turn);
    return status;
}

enum glint_status glint_run_chat_end(struct glint_run_chat *chat, bool limit,
                                     struct glint_error *err) {
    enum glint_status status = glint_turn_end(chat->turn, limit, err);
    end_reasoning(chat);
    close_call(chat);
    if (chat->keep) {
        fflush(chat->content);
        fflush(chat->reasoning);
        fflush(chat->calls);
    } else if (chat->line_open) {
        fputs("\n", stdout);
    }
    return status;
}

void glint_run_chat_print(const struct glint_run_chat *chat) {
    printf("\"content\":");
    glint_json_out_string(stdout, chat->text[CONTENT], chat->n_text[CONTENT]);
    printf(",\"reasoning\":");
    glint_json_out_string(stdout, chat->text[REASONING], chat->n_text[REASONING]);
    printf(",\"tool_calls\":[%s]", chat->text[CALLS]);
}

void glint_run_chat_fini(struct glint_run_chat *chat) {
    FILE *streams[3] = {chat->content, chat->reasoning, chat->calls};
    glint_turn_close(&chat->turn);
    for (int i = 0; i < 3; i++) {
        if (chat->keep && streams[i])
            fclose(streams[i]);
        free(chat->text[i]);
    }
    free(chat->tools);
}
