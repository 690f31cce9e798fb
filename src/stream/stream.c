// SPDX-License-Identifier: Apache-2.0
// stream.c — headers, markers and the boundaries of messages.
#include "stream/stream.h"

#include "base/alloc.h"
#include "stream/stream_body.h"
#include "stream/stream_header.h"

#include <string.h>

static const char start_text[] = "<|start|>";
static const char message_text[] = "<|message|>";

const char *glint_turn_reason_name(enum glint_turn_reason reason) {
    static const char *const names[] = {"stop", "length", "tool_calls"};
    return names[reason];
}

enum glint_status glint_stream_open(struct glint_stream **stream,
                                    const struct glint_stream_options *options,
                                    struct glint_error *err) {
    static const char *const recipients[] = {"", "self", "user"};
    struct glint_stream *s = glint_alloc(1, sizeof *s);
    *stream = NULL;
    if (!s)
        return glint_fail(err, GLINT_E_NOMEM, "stream: no memory");
    enum glint_status status =
        glint_stop_match_init(&s->stops, options->stops, options->n_stops, err);
    if (status != GLINT_OK) {
        glint_free(s);
        return status;
    }
    static const struct glint_tool_set no_tools = {.tools = NULL, .n = 0};
    s->options = *options;
    s->atem.tools = options->tools ? options->tools : &no_tools;
    s->state = GLINT_STATE_FIRST_HEADER;
    if (options->start == GLINT_TURN_TOOL)
        glint_body_open(s, options->start_tool);
    else if (options->start != GLINT_TURN_HEADER)
        glint_body_open(s, glint_view_of(recipients[options->start]));
    *stream = s;
    return GLINT_OK;
}

void glint_stream_close(struct glint_stream **stream) {
    struct glint_stream *s = *stream;
    if (!s)
        return;
    glint_buffer_fini(&s->header);
    glint_buffer_fini(&s->tail);
    glint_buffer_fini(&s->out);
    glint_buffer_fini(&s->scratch);
    glint_buffer_fini(&s->scratch2);
    glint_atem_fini(&s->atem);
    glint_stop_match_fini(&s->stops);
    glint_free(s);
    *stream = NULL;
}

void glint_stream_end(struct glint_stream *s, bool limit) {
    if (s->state == GLINT_STATE_DONE)
        return;
    s->state = GLINT_STATE_DONE;
    glint_stream_flush(s);
    struct glint_turn_event event = {.kind = GLINT_TURN_FINISH, .text = ""};
    event.reason = limit                                  ? GLINT_FINISH_LENGTH
                   : s->count.n_calls != 0 && !s->stopped ? GLINT_FINISH_TOOL_CALLS
                                                          : GLINT_FINISH_STOP;
    if (s->stopped && s->stops.held.n != 0) {
        event.text = s->stops.held.data;
        event.n = s->stops.held.n;
    }
    if (s->options.on_event && !s->failed)
        s->options.on_event(s->options.context, &event);
}

static struct glint_view header_view(const struct glint_stream *s) {
    return (struct glint_view){.data = s->header.data ? s->header.data : "", .n = s->header.n};
}

static void discard_header(struct glint_stream *s) {
    glint_stream_remains(s, s->header.data, s->header.n);
    glint_buffer_clear(&s->header);
    s->pending = false;
}

// ---- text -------------------------------------------------------------------------------------

// A byte of a header. When the text can be no header any more, it is an answer without one.
static void put_header(struct glint_stream *s, char c) {
    glint_buffer_append_char(&s->header, c);
    s->failed = s->failed || s->header.failed;
    bool first = s->state == GLINT_STATE_FIRST_HEADER;
    if (glint_header_read(header_view(s), first).fit != GLINT_HEADER_BAD)
        return;
    glint_body_open(s, (struct glint_view){.data = "", .n = 0});
    glint_body_put(s, s->header.data, s->header.n);
    glint_buffer_clear(&s->header);
}

// The START that came was part of the body's text after all.
static void unpend(struct glint_stream *s) {
    s->pending = false;
    if (s->pending_in_value) { // argument data must not lose bytes
        s->count.text_bytes += sizeof start_text - 1;
        glint_body_put(s, start_text, sizeof start_text - 1);
    }
    glint_body_put(s, s->header.data, s->header.n);
    glint_buffer_clear(&s->header);
}

static void put_pending(struct glint_stream *s, char c) {
    glint_buffer_append_char(&s->header, c);
    s->failed = s->failed || s->header.failed;
    if (glint_header_read(header_view(s), false).fit == GLINT_HEADER_BAD)
        unpend(s);
}

static void put_text(struct glint_stream *s, struct glint_view text) {
    size_t at = 0;
    while (at < text.n) {
        char c = text.data[at];
        if (s->state == GLINT_STATE_DONE) {
            glint_stream_remains(s, text.data + at, text.n - at);
            return;
        }
        if (s->state == GLINT_STATE_BODY && !s->pending) {
            glint_body_put(s, text.data + at, text.n - at);
            return;
        }
        at++;
        if (s->state == GLINT_STATE_BODY) {
            put_pending(s, c);
        } else if (s->state == GLINT_STATE_BETWEEN && glint_header_is_space(c)) {
            glint_stream_remains(s, &c, 1);
        } else {
            if (s->state == GLINT_STATE_BETWEEN)
                s->state = GLINT_STATE_HEADER;
            put_header(s, c);
        }
    }
}

// ---- markers ----------------------------------------------------------------------------------

static void put_start(struct glint_stream *s) {
    if (s->state == GLINT_STATE_BODY) {
        if (s->pending && s->pending_in_value)
            unpend(s);
        discard_header(s);
        s->pending = true;
        s->pending_in_value = glint_body_in_value(s);
        return;
    }
    discard_header(s);
    s->state = GLINT_STATE_HEADER;
}

// The header is complete.
static void end_header(struct glint_stream *s) {
    bool first = s->state == GLINT_STATE_FIRST_HEADER;
    struct glint_header header = glint_header_read(header_view(s), first);
    if (header.fit == GLINT_HEADER_WHOLE && header.other_role) {
        discard_header(s); // the model invents somebody else's turn
        glint_stream_end(s, false);
        return;
    }
    s->count.framing += s->header.n;
    glint_body_open(s, header.recipient);
    glint_buffer_clear(&s->header);
}

static void put_message(struct glint_stream *s) {
    struct glint_view recipient;
    if (s->state != GLINT_STATE_BODY) {
        end_header(s);
        return;
    }
    if (s->pending) {
        bool whole = glint_header_read(header_view(s), false).fit == GLINT_HEADER_WHOLE;
        if (!s->pending_in_value || whole) {
            s->pending = false;
            glint_body_close(s, GLINT_CLOSE_NORMAL);
            if (s->state == GLINT_STATE_DONE) {
                discard_header(s);
                return;
            }
            s->state = GLINT_STATE_HEADER;
            end_header(s);
            return;
        }
        unpend(s);
    }
    if (glint_body_in_value(s)) {
        s->count.text_bytes += sizeof message_text - 1;
        glint_body_put(s, message_text, sizeof message_text - 1);
    } else if (glint_body_take_tail(s, &recipient)) {
        struct glint_buffer name = s->scratch2; // closing uses the scratch buffers
        s->scratch2 = (struct glint_buffer){.data = NULL};
        glint_body_close(s, GLINT_CLOSE_NORMAL);
        if (s->state != GLINT_STATE_DONE)
            glint_body_open(s, (struct glint_view){.data = name.data, .n = name.n});
        glint_buffer_fini(&name);
    }
}

static void put_eom(struct glint_stream *s) {
    discard_header(s);
    if (s->state == GLINT_STATE_BODY)
        glint_body_close(s, GLINT_CLOSE_NORMAL);
    if (s->state != GLINT_STATE_DONE)
        s->state = GLINT_STATE_BETWEEN;
    if (s->options.one_call && s->count.n_calls != 0)
        glint_stream_end(s, false);
}

static void put_end(struct glint_stream *s, bool limit) {
    discard_header(s);
    if (s->state == GLINT_STATE_BODY)
        glint_body_close(s, limit ? GLINT_CLOSE_CUT : GLINT_CLOSE_NORMAL);
    glint_stream_end(s, limit);
}

enum glint_status glint_stream_put(struct glint_stream *stream, enum glint_stream_input input,
                                   struct glint_view text) {
    struct glint_stream *s = stream;
    if (input == GLINT_INPUT_TEXT) {
        s->count.text_bytes += text.n;
        put_text(s, text);
    } else if (s->state != GLINT_STATE_DONE) {
        switch (input) {
        case GLINT_INPUT_START:
            put_start(s);
            break;
        case GLINT_INPUT_MESSAGE:
            put_message(s);
            break;
        case GLINT_INPUT_EOM:
            put_eom(s);
            break;
        default:
            put_end(s, input == GLINT_INPUT_LIMIT);
            break;
        }
    }
    glint_stream_flush(s);
    s->failed = s->failed || s->atem.failed || s->tail.failed || s->stops.held.failed;
    return s->failed ? GLINT_E_NOMEM : GLINT_OK;
}

enum glint_status glint_stream_put_id(struct glint_stream *stream, const struct glint_vocab *vocab,
                                      int32_t id) {
    const struct glint_dialect *dialect = glint_vocab_dialect(vocab);
    struct glint_view none = {.data = "", .n = 0};
    if (id == dialect->start)
        return glint_stream_put(stream, GLINT_INPUT_START, none);
    if (id == dialect->message)
        return glint_stream_put(stream, GLINT_INPUT_MESSAGE, none);
    if (id == dialect->eom)
        return glint_stream_put(stream, GLINT_INPUT_EOM, none);
    if (id == dialect->eot || id == dialect->end_of_text || glint_vocab_is_stop(vocab, id))
        return glint_stream_put(stream, GLINT_INPUT_END, none);
    if (glint_vocab_is_special(vocab, id))
        return GLINT_OK;
    bool reasoning = stream->state == GLINT_STATE_BODY && stream->body == GLINT_BODY_SELF;
    stream->count.reasoning_ids += reasoning && !stream->pending;
    return glint_stream_put(stream, GLINT_INPUT_TEXT, glint_vocab_bytes(vocab, id));
}

// Length of a special token's spelling at text[at], 0 when there is none; its id in *id.
static size_t special_at(const struct glint_vocab *vocab, struct glint_view text, size_t at,
                         int32_t *id) {
    size_t end = at + 2;
    if (text.n - at < 4 || text.data[at] != '<' || text.data[at + 1] != '|')
        return 0;
    while (end < text.n && end - at < 80 &&
           ((text.data[end] >= 'a' && text.data[end] <= 'z') ||
            (text.data[end] >= '0' && text.data[end] <= '9') || text.data[end] == '_'))
        end++;
    if (text.n - end < 2 || text.data[end] != '|' || text.data[end + 1] != '>')
        return 0;
    size_t n = end + 2 - at;
    *id = glint_vocab_find_special(vocab, (struct glint_view){.data = text.data + at, .n = n});
    return *id < 0 ? 0 : n;
}

enum glint_status glint_stream_put_marked(struct glint_stream *stream,
                                          const struct glint_vocab *vocab, struct glint_view text) {
    size_t begin = 0;
    for (size_t at = 0; at < text.n; at++) {
        int32_t id = -1;
        size_t n = special_at(vocab, text, at, &id);
        if (n == 0)
            continue;
        struct glint_view before = {.data = text.data + begin, .n = at - begin};
        GLINT_TRY(glint_stream_put(stream, GLINT_INPUT_TEXT, before));
        GLINT_TRY(glint_stream_put_id(stream, vocab, id));
        begin = at + n;
        at = begin - 1;
    }
    struct glint_view rest = {.data = text.data + begin, .n = text.n - begin};
    return glint_stream_put(stream, GLINT_INPUT_TEXT, rest);
}

bool glint_stream_is_done(const struct glint_stream *stream) {
    return stream->state == GLINT_STATE_DONE;
}

bool glint_stream_must_close_reasoning(const struct glint_stream *stream) {
    return stream->options.has_budget && stream->state == GLINT_STATE_BODY &&
           stream->body == GLINT_BODY_SELF && !stream->pending &&
           stream->count.reasoning_ids >= stream->options.budget;
}

bool glint_stream_reasoning_is_closed(const struct glint_stream *stream) {
    return stream->options.has_budget && stream->count.reasoning_ids >= stream->options.budget;
}

size_t glint_stream_closing_ids(const struct glint_vocab *vocab, int32_t *ids, size_t n) {
    const struct glint_dialect *dialect = glint_vocab_dialect(vocab);
    int32_t closing[16] = {dialect->eom, dialect->start};
    size_t n_closing = 2;
    const char *rest = "assistant";
    while (*rest && n_closing < sizeof closing / sizeof *closing) {
        size_t length = strlen(rest); // the longest token that the rest begins with
        int32_t id = -1;
        while (length != 0 && (id = glint_vocab_find(vocab, (struct glint_view){rest, length})) < 0)
            length--;
        if (id < 0)
            break;
        closing[n_closing++] = id;
        rest += length;
    }
    for (size_t i = 0; i < n && i < n_closing; i++)
        ids[i] = closing[i];
    return n_closing;
}

struct glint_stream_count glint_stream_counts(const struct glint_stream *stream) {
    return stream->count;
}
