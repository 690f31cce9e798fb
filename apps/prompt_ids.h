// SPDX-License-Identifier: Apache-2.0
// prompt_ids.h — a conversation to the token ids that the model continues.
#ifndef GLINT_APPS_PROMPT_IDS_H
#define GLINT_APPS_PROMPT_IDS_H

#include <glint/glint.h>
#include <stdio.h>

// Opens the file's template; GLINT_E_UNSUPPORTED when its output could not be taken apart.
enum glint_status glint_prompt_template(struct glint_chat **chat, const struct glint_engine *engine,
                                        struct glint_error *err);
// Renders and tokenizes. *ids is for glint_ids_free.
enum glint_status glint_prompt_ids(const struct glint_chat *chat, const struct glint_engine *engine,
                                   const struct glint_chat_request *request, struct glint_ids *ids,
                                   enum glint_turn_start *start, struct glint_error *err);
// {"role":ROLE,"content":TEXT}; with pictures (a letter each, i or v for a video) the content is
// that many parts, then the text.
void glint_prompt_message(FILE *out, const char *role, const char *pictures,
                          struct glint_json_text text);
// Today as the template's clock wants it.
void glint_prompt_today(char date[16]);

#endif
