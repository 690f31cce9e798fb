// SPDX-License-Identifier: Apache-2.0
// held_out.c — see held_out.h. A line is effort, date, tools, messages, separated by tabs.
#include "held_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_FIELD = 4, LINE_BYTES = 1 << 14 };

static enum glint_status tokenize(struct glint_chat *chat, const struct glint_engine *engine,
                                  char *field[N_FIELD], struct glint_ids *ids,
                                  struct glint_error *err) {
    struct glint_chat_request request = {.effort = field[0], .date = field[1], .normalise = true};
    struct glint_chat_prompt prompt = {0};
    if (strcmp(field[2], "[]") != 0)
        request.tools = (struct glint_json_text){field[2], strlen(field[2])};
    request.messages = (struct glint_json_text){field[3], strlen(field[3])};
    enum glint_status status = glint_chat_prompt(chat, &request, &prompt, err);
    struct glint_text text = {.data = prompt.data,
                              .n = prompt.n,
                              .special = true,
                              .untrusted = prompt.untrusted,
                              .n_untrusted = prompt.n_untrusted};
    if (status == GLINT_OK)
        status = glint_tokenize(engine, &text, ids, err);
    glint_chat_prompt_free(&prompt);
    return status;
}

static enum glint_status read_line(struct held_out *prompts, struct glint_chat *chat,
                                   const struct glint_engine *engine, char *line,
                                   struct glint_error *err) {
    char *field[N_FIELD] = {0};
    for (int i = 0; i < N_FIELD; i++) {
        field[i] = line;
        line += strcspn(line, i + 1 < N_FIELD ? "\t" : "\n");
        if (*line)
            *line++ = 0;
    }
    prompts->prompt[prompts->n].tools = strcmp(field[2], "[]") != 0;
    return tokenize(chat, engine, field, &prompts->prompt[prompts->n++].ids, err);
}

bool held_out_open(struct held_out *prompts, const struct glint_engine *engine, const char *path) {
    struct glint_error err = {.text = "not read"};
    struct glint_chat *chat = NULL;
    FILE *file = fopen(path, "r");
    char *line = malloc(LINE_BYTES);
    *prompts = (struct held_out){.n = 0};
    enum glint_status status = file && line ? glint_chat_open(&chat, engine, &err) : GLINT_E_IO;
    while (status == GLINT_OK && prompts->n < HELD_OUT_MAX && fgets(line, LINE_BYTES, file))
        status = read_line(prompts, chat, engine, line, &err);
    if (status != GLINT_OK)
        fprintf(stderr, "%s: line %d: %s\n", path, prompts->n, err.text);
    glint_chat_close(&chat);
    free(line);
    if (file)
        fclose(file);
    if (status != GLINT_OK)
        held_out_close(prompts);
    return status == GLINT_OK;
}

void held_out_close(struct held_out *prompts) {
    for (int i = 0; i < prompts->n; i++)
        glint_ids_free(&prompts->prompt[i].ids);
    prompts->n = 0;
}
