// SPDX-License-Identifier: Apache-2.0
// text_job.h — raw text to be gone on with, without a chat template, as every protocol describes it
// in the end.
#ifndef GLINT_SERVER_TEXT_JOB_H
#define GLINT_SERVER_TEXT_JOB_H

#include "server/chat_job.h"

enum { GLINT_TEXT_MAX_WORKS = 64 };

struct glint_text_job { // all-zero is a valid empty one
    struct glint_sampling_request sampling;
    struct glint_chat_job stops; // its stop strings alone
    int64_t n_predict;           // -1: no limit
    int64_t n_each;              // answers to each prompt; 0 counts as 1
    bool echo;
    struct glint_json_text schema; // the text is JSON that satisfies it; NULL: none
    struct glint_work *works[GLINT_TEXT_MAX_WORKS];
    int n_works;
    int n_prompt; // tokens of all prompts
};

// Closes the works that have not been handed over.
void glint_text_job_fini(struct glint_text_job *job);
// One prompt: a text, or a list of token ids and texts, or {"prompt_string": text}, appended to ids
// as int32_t. False after filling the fields' error, with `name` as the field at fault.
bool glint_text_prompt_ids(const struct glint_json *prompt, const struct glint_engine *engine,
                           const struct glint_fields *fields, const char *name,
                           struct glint_buffer *ids);
// A list of prompts: a list that has a number in it is one.
bool glint_text_is_many(const struct glint_json *prompt);
// Makes the works of the field `name`: one prompt, or a list of prompts. The rest of the job has
// been read. False after filling the fields' error.
bool glint_text_job_add_prompts(struct glint_text_job *job, const struct glint_exchange *exchange,
                                const struct glint_fields *fields, const char *name);

#endif
