// SPDX-License-Identifier: Apache-2.0
// prompt_ids.c — template, then tokenizer.
#include "prompt_ids.h"

#include "json_out.h"

#include <time.h>

enum glint_status glint_prompt_template(struct glint_chat **chat, const struct glint_engine *engine,
                                        struct glint_error *err) {
    enum glint_status status = glint_chat_open(chat, engine, err);
    if (status != GLINT_OK || glint_chat_is_native(*chat))
        return status;
    glint_chat_close(chat);
    *err = (struct glint_error){.status = GLINT_E_UNSUPPORTED};
    snprintf(err->text, sizeof err->text,
             "the file's chat template is of another dialect; `glint run --raw` continues plain "
             "text");
    return GLINT_E_UNSUPPORTED;
}

enum glint_status glint_prompt_ids(const struct glint_chat *chat, const struct glint_engine *engine,
                                   const struct glint_chat_request *request, struct glint_ids *ids,
                                   enum glint_turn_start *start, struct glint_error *err) {
    struct glint_chat_prompt prompt = {0};
    enum glint_status status = glint_chat_prompt(chat, request, &prompt, err);
    if (status == GLINT_OK)
        status = glint_chat_prompt_ids(engine, &prompt, ids, err);
    *start = prompt.start;
    glint_chat_prompt_free(&prompt);
    return status;
}

void glint_prompt_message(FILE *out, const char *role, const char *pictures,
                          struct glint_json_text text) {
    bool parts = pictures[0] != 0;
    fprintf(out, "{\"role\":\"%s\",\"content\":%s", role, parts ? "[" : "");
    for (; *pictures; pictures++)
        fprintf(out, "{\"type\":\"%s\"},", *pictures == 'v' ? "video" : "image");
    if (parts)
        fputs("{\"type\":\"text\",\"text\":", out);
    glint_json_out_string(out, text.data, text.n);
    fputs(parts ? "}]}" : "}", out);
}

void glint_prompt_today(char date[16]) {
    time_t now = time(NULL);
    strftime(date, 16, "%Y-%m-%d", localtime(&now));
}
