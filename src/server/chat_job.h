// SPDX-License-Identifier: Apache-2.0
// chat_job.h — a conversation to be answered, as every chat protocol describes it in the end.
#ifndef GLINT_SERVER_CHAT_JOB_H
#define GLINT_SERVER_CHAT_JOB_H

#include "server/exchange.h"
#include "server/media.h"
#include "server/sampling_request.h"

enum { GLINT_CHAT_MAX_STOPS = 16, GLINT_CHAT_MAX_CHOICES = 8 };

struct glint_chat_job {                             // all-zero is a valid empty one
    struct glint_buffer messages, tools, variables; // JSON texts; empty: absent
    struct glint_media media;                       // of the messages, put there by media.h
    int64_t image_max_tokens;                       // of each picture; 0: the server's
    const char *effort;                             // NULL: the server's
    bool continue_final, no_generation_prompt;
    const char *tool_choice;     // NULL or "auto", "none", "required", or a tool's name
    struct glint_buffer allowed; // those of the tools that may be called, as JSON; empty: all
    bool one_call;
    struct glint_buffer schema; // the answer is JSON that satisfies it; empty: none
    bool json_object;           // or: any JSON object
    bool has_budget;            // of reasoning, in tokens
    int64_t budget;
    const char *stops[GLINT_CHAT_MAX_STOPS];
    size_t n_stops;
    int64_t n_predict; // -1: no limit
    int n_choices;     // 0 counts as 1
    struct glint_sampling_request sampling;
    // Turns a refusal that speaks of messages into one of the protocol's fields; NULL: none needed.
    void (*rename)(struct glint_api_error *error);
};

void glint_chat_job_fini(struct glint_chat_job *job);
// Fields that chat protocols share: stop (one or several strings, under that name).
bool glint_chat_job_read_stops(struct glint_chat_job *job, const struct glint_fields *fields,
                               const char *name);
// The prompt as token ids and where the model's output begins. False after filling error, which
// goes to glint_exchange_refuse: with pictures it may mean that the handler is called again.
bool glint_chat_job_render(const struct glint_chat_job *job, struct glint_exchange *exchange,
                           struct glint_ids *ids, enum glint_turn_start *start,
                           struct glint_api_error *error);
// Renders and hands over to the engine thread; answers or refuses. Takes over voice.
void glint_chat_job_start(struct glint_chat_job *job, struct glint_exchange *exchange,
                          struct glint_voice *voice);
// False, after filling error, when a prompt leaves no room for an answer.
bool glint_check_prompt_length(const struct glint_exchange *exchange, size_t n,
                               struct glint_api_error *error);

#endif
