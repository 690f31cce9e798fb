// SPDX-License-Identifier: Apache-2.0
// openai_voice.h — what a chat completion sounds like.
#ifndef GLINT_SERVER_OPENAI_VOICE_H
#define GLINT_SERVER_OPENAI_VOICE_H

#include "server/chat_job.h"

// Reads stream, stream_options and model of the request. False after filling error.
bool glint_openai_voice_open(struct glint_voice **voice, const struct glint_json *root,
                             const struct glint_exchange *exchange,
                             const struct glint_chat_job *job, struct glint_api_error *error);
struct glint_openai_stream {
    bool on, include_usage;
};
bool glint_openai_read_stream(struct glint_openai_stream *stream,
                              const struct glint_fields *fields);
// Adds the work of another choice.
void glint_openai_add_usage(struct glint_usage *all, const struct glint_usage *one);
// A failure in the middle of a stream, which ends with it.
void glint_openai_say_error(struct glint_voice *voice, const struct glint_note *note,
                            struct glint_buffer *out);
// "usage" and "timings" as OpenAI and llama.cpp have them, as members of an object.
void glint_openai_put_usage(struct glint_json_writer *w, const struct glint_usage *usage);
void glint_openai_put_timings(struct glint_json_writer *w, const struct glint_usage *usage);
// Adds a note of a token, or of an alternative to the last one, to a list of JSON objects {"token",
// "logprob", "bytes", "top_logprobs"}, each with its "id" if asked for.
void glint_openai_keep_token(struct glint_buffer *tokens, const struct glint_note *note, bool id);

#endif
