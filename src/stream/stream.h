// SPDX-License-Identifier: Apache-2.0
// stream.h — the model's output, id by id, to events: reasoning, answer, tool calls.
// One machine for everything a turn can hold, driven by ids: the markers are single ids, and
// ordinary text that spells one is text. What is emitted is never taken back, and the sum of the
// events does not depend on how the output was cut. Whatever the model wrote ends up in exactly
// one place: reasoning, content, a call, the framing of a message, or a REMAINS event. Nothing in
// the output is an error; running out of memory is.
#ifndef GLINT_STREAM_STREAM_H
#define GLINT_STREAM_STREAM_H

#include "stream/tool_set.h"
#include "token/vocab.h"

struct glint_stream_options {
    const struct glint_tool_set *tools; // NULL: none; outlives the stream
    bool no_calls;                      // tools are declared but must not be called
    bool one_call;                      // end the turn after the first call
    enum glint_turn_start start;
    struct glint_view start_tool;   // recipient, for GLINT_TURN_TOOL
    const struct glint_view *stops; // [n_stops] strings that end the answer, copied
    size_t n_stops;
    bool has_budget; // limit on reasoning
    size_t budget;   // ids that reasoning bodies may take
    void (*on_event)(void *context, const struct glint_turn_event *event);
    void *context;
};

struct glint_stream;

enum glint_status glint_stream_open(struct glint_stream **stream,
                                    const struct glint_stream_options *options,
                                    struct glint_error *err);
void glint_stream_close(struct glint_stream **stream);

// What an id means.
enum glint_stream_input {
    GLINT_INPUT_TEXT,    // bytes of an ordinary token, or any part of them
    GLINT_INPUT_START,   // <|start|>
    GLINT_INPUT_MESSAGE, // <|message|>
    GLINT_INPUT_EOM,     // <|eom|>
    GLINT_INPUT_END,     // <|eot|>, <|end_of_text|>, or the engine saw the turn end
    GLINT_INPUT_LIMIT,   // token limit, context full, cancelled
};

// GLINT_E_NOMEM, after which the stream can only be closed. After the end everything is REMAINS.
enum glint_status glint_stream_put(struct glint_stream *stream, enum glint_stream_input input,
                                   struct glint_view text);
enum glint_status glint_stream_put_id(struct glint_stream *stream, const struct glint_vocab *vocab,
                                      int32_t id);
// Text in which the special tokens of the vocabulary are spelled out.
enum glint_status glint_stream_put_marked(struct glint_stream *stream,
                                          const struct glint_vocab *vocab, struct glint_view text);

// The turn is over (an end marker, a stop string, another role, one_call): stop generating.
bool glint_stream_is_done(const struct glint_stream *stream);
// Reasoning has used up its budget: force the ids of <|eom|>, <|start|> and "assistant" next (put
// them in like sampled ones) and do not let the model address "self" from then on.
bool glint_stream_must_close_reasoning(const struct glint_stream *stream);
// Writes up to n of those ids and returns how many there are.
size_t glint_stream_closing_ids(const struct glint_vocab *vocab, int32_t *ids, size_t n);
bool glint_stream_reasoning_is_closed(const struct glint_stream *stream);

struct glint_stream_count {
    size_t text_bytes;                                  // put in, markers kept as text included
    size_t framing, reasoning, content, calls, remains; // where they went; they add up
    size_t reasoning_ids;                               // ordinary ids inside reasoning bodies
    size_t n_calls;
};
// The parts add up to text_bytes once the stream has ended.
struct glint_stream_count glint_stream_counts(const struct glint_stream *stream);

#endif
