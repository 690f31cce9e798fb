// SPDX-License-Identifier: Apache-2.0
// stream_body.c — bodies. Reasoning and answers go out as they come, except a tail that may turn
// out to be a header whose markers are missing. Calls are collected until their body closes.
#include "stream/stream_body.h"

#include "base/utf8.h"
#include "stream/argument.h"
#include "stream/stream_header.h"

#include <string.h>

enum { MAX_RECIPIENT = 128 };

static const char calls_begin[] = "<atem:function_calls>";

bool glint_stream_has_tools(const struct glint_stream *s) {
    return s->options.tools && s->options.tools->n != 0 && !s->options.no_calls;
}

static void emit(struct glint_stream *s, struct glint_turn_event event, struct glint_view text) {
    event.text = text.data;
    event.n = text.n;
    if (s->options.on_event && !s->failed)
        s->options.on_event(s->options.context, &event);
}

static struct glint_view view_of(const struct glint_buffer *buffer) {
    return (struct glint_view){.data = buffer->data ? buffer->data : "", .n = buffer->n};
}

void glint_stream_flush(struct glint_stream *s) {
    s->failed = s->failed || s->out.failed;
    if (s->out.n != 0)
        emit(s, (struct glint_turn_event){.kind = s->out_kind}, view_of(&s->out));
    glint_buffer_clear(&s->out);
}

void glint_stream_remains(struct glint_stream *s, const char *data, size_t n) {
    if (n == 0)
        return;
    s->count.remains += n;
    glint_stream_flush(s);
    emit(s, (struct glint_turn_event){.kind = GLINT_TURN_REMAINS}, (struct glint_view){data, n});
}

// Decoded text of the current body to `out`, after a line break when an earlier body of the same
// kind had text.
static void put_decoded(struct glint_stream *s, const struct glint_buffer *decoded) {
    bool self = s->body == GLINT_BODY_SELF;
    enum glint_turn_kind kind = self ? GLINT_TURN_REASONING : GLINT_TURN_CONTENT;
    bool *before = self ? &s->has_reasoning : &s->has_content;
    s->failed = s->failed || decoded->failed;
    if (decoded->n == 0)
        return;
    if (s->out_kind != kind)
        glint_stream_flush(s);
    s->out_kind = kind;
    if (!s->body_has_text && *before)
        glint_buffer_append_char(&s->out, '\n');
    s->body_has_text = true;
    *before = true;
    glint_buffer_append(&s->out, decoded->data, decoded->n);
}

static void put_characters(struct glint_stream *s, struct glint_view bytes) {
    glint_buffer_clear(&s->scratch);
    glint_decoder_push_bytes(&s->decoder, bytes, &s->scratch);
    put_decoded(s, &s->scratch);
}

// Visible bytes of the current body.
static void put_visible(struct glint_stream *s, const char *data, size_t n) {
    if (n == 0 || s->state == GLINT_STATE_DONE) {
        glint_stream_remains(s, data, n);
        return;
    }
    struct glint_view bytes = {.data = data, .n = n};
    if (s->body == GLINT_BODY_SELF) {
        s->count.reasoning += n;
        put_characters(s, bytes);
        return;
    }
    size_t n_used = 0;
    glint_buffer_clear(&s->scratch2);
    bool stop = glint_stop_match_put(&s->stops, bytes, &n_used, &s->scratch2);
    s->failed = s->failed || s->scratch2.failed;
    s->count.content += s->scratch2.n;
    put_characters(s, view_of(&s->scratch2));
    if (!stop)
        return;
    glint_buffer_clear(&s->scratch);
    glint_decoder_flush(&s->decoder, &s->scratch);
    put_decoded(s, &s->scratch);
    s->stopped = true;
    struct glint_view match = view_of(&s->stops.held);
    glint_stream_remains(s, match.data, match.n);
    glint_stream_end(s, false); // names the match
    glint_buffer_clear(&s->stops.held);
    glint_stream_remains(s, data + n_used, n - n_used);
}

// Everything visible that is still held; a character cannot go on in the next body.
static void flush_visible(struct glint_stream *s) {
    if (s->body == GLINT_BODY_USER && s->state != GLINT_STATE_DONE) {
        glint_buffer_clear(&s->scratch2);
        glint_stop_match_flush(&s->stops, &s->scratch2);
        s->count.content += s->scratch2.n;
        put_characters(s, view_of(&s->scratch2));
    }
    glint_buffer_clear(&s->scratch);
    glint_decoder_flush(&s->decoder, &s->scratch);
    put_decoded(s, &s->scratch);
}

// ---- the tail that may be a header ------------------------------------------------------------

static void release_tail(struct glint_stream *s) {
    struct glint_buffer tail = s->tail;
    s->tail = (struct glint_buffer){.data = NULL};
    s->failed = s->failed || tail.failed;
    if (tail.n != 0)
        put_visible(s, tail.data, tail.n);
    if (!s->tail.data) { // keep the memory
        s->tail = tail;
        glint_buffer_clear(&s->tail);
    } else {
        glint_buffer_fini(&tail);
    }
    s->tail_state = TAIL_NONE;
}

// Whether byte c continues the tail; moves its state.
static bool tail_accepts(struct glint_stream *s, char c) {
    switch (s->tail_state) {
    case TAIL_SPACE:
        s->tail_state = TAIL_T;
        return c == 't';
    case TAIL_T:
        s->tail_state = TAIL_TO;
        return c == 'o';
    case TAIL_TO:
        s->tail_state = TAIL_NAME;
        s->tail_name = 0;
        return c == '=';
    case TAIL_NAME:
        if ((c == ' ' || c == '\t') && s->tail_name != 0) {
            s->tail_state = TAIL_BLANK;
            return true;
        }
        return !glint_header_is_space(c) && c != '<' && s->tail_name++ < MAX_RECIPIENT;
    case TAIL_BLANK:
        return c == ' ' || c == '\t';
    default:
        return false;
    }
}

// In the blanks behind a recipient, a 't' may begin another recipient after the last blank.
static bool tail_restarts(struct glint_stream *s, char c) {
    if (s->tail_state != TAIL_BLANK || c != 't' || s->tail.failed)
        return false;
    char blank = s->tail.data[s->tail.n - 1];
    s->tail.n--;
    release_tail(s);
    glint_buffer_append_char(&s->tail, blank);
    s->tail_state = TAIL_SPACE;
    return true;
}

// Bytes of a reasoning or answer body.
static void put_streamed(struct glint_stream *s, const char *data, size_t n) {
    size_t begin = 0; // of what is neither given out nor in the tail
    for (size_t i = 0; i < n && s->state != GLINT_STATE_DONE; i++) {
        char c = data[i];
        if (s->tail_state != TAIL_NONE) {
            tail_restarts(s, c);
            if (tail_accepts(s, c)) {
                glint_buffer_append_char(&s->tail, c);
                begin = i + 1;
                continue;
            }
            release_tail(s);
        }
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            put_visible(s, data + begin, i - begin);
            begin = i;
            if (s->state == GLINT_STATE_DONE)
                break;
            glint_buffer_append_char(&s->tail, c);
            s->tail_state = TAIL_SPACE;
            begin = i + 1;
        }
    }
    if (s->state == GLINT_STATE_DONE) { // a stop string came: nothing waits any more
        glint_stream_remains(s, s->tail.data, s->tail.n);
        glint_buffer_clear(&s->tail);
    }
    if (begin < n)
        put_visible(s, data + begin, n - begin);
}

// ---- opening, filling, closing ----------------------------------------------------------------

void glint_body_open(struct glint_stream *s, struct glint_view recipient) {
    bool tools = glint_stream_has_tools(s);
    bool self = glint_view_is(recipient, "self");
    bool user = recipient.n == 0 || glint_view_is(recipient, "user");
    s->body = self ? GLINT_BODY_SELF : !user && tools ? GLINT_BODY_TOOL : GLINT_BODY_USER;
    s->recipient = tools ? glint_tool_set_resolve(s->options.tools, recipient) : NULL;
    s->undecided = s->body == GLINT_BODY_USER && tools;
    s->body_has_text = false;
    s->tail_state = TAIL_SPACE; // a body may begin with a recipient
    glint_buffer_clear(&s->tail);
    glint_atem_clear(&s->atem);
    s->state = GLINT_STATE_BODY;
}

// An answer held back in atem.text: still nothing but white space and the marker of a call?
static bool may_be_call(const struct glint_stream *s) {
    const struct glint_buffer *text = &s->atem.text;
    size_t at = 0;
    while (at < text->n && glint_header_is_space(text->data[at]))
        at++;
    size_t n = text->n - at;
    if (n > sizeof calls_begin - 1)
        n = sizeof calls_begin - 1;
    return n == 0 || memcmp(text->data + at, calls_begin, n) == 0;
}

// It is an answer after all.
static void decide_answer(struct glint_stream *s) {
    struct glint_buffer text = s->atem.text;
    s->atem.text = (struct glint_buffer){.data = NULL};
    s->undecided = false;
    if (text.n != 0)
        put_streamed(s, text.data, text.n);
    glint_buffer_fini(&text);
}

void glint_body_put(struct glint_stream *s, const char *data, size_t n) {
    if (s->body == GLINT_BODY_TOOL) {
        glint_atem_append(&s->atem, data, n);
        return;
    }
    size_t at = 0;
    // Byte by byte only until the marker of a call is complete or disproved.
    while (at < n && s->undecided && s->atem.text.n < sizeof calls_begin + 64) {
        glint_atem_append(&s->atem, data + at++, 1);
        if (!may_be_call(s))
            decide_answer(s);
    }
    if (at == n)
        return;
    if (!s->undecided) {
        put_streamed(s, data + at, n - at);
        return;
    }
    glint_atem_append(&s->atem, data + at, n - at);
    if (!may_be_call(s))
        decide_answer(s);
}

bool glint_body_in_value(struct glint_stream *s) {
    if (s->body != GLINT_BODY_TOOL)
        return false;
    glint_atem_parse(&s->atem, GLINT_ATEM_MORE);
    return glint_atem_in_value(&s->atem);
}

bool glint_body_take_tail(struct glint_stream *s, struct glint_view *recipient) {
    bool collected = s->body == GLINT_BODY_TOOL || s->undecided;
    struct glint_buffer *text = collected ? &s->atem.text : &s->tail;
    size_t n = 0;
    struct glint_view found = glint_header_tail(view_of(text), &n);
    bool known =
        glint_view_is(found, "self") || glint_view_is(found, "user") ||
        (found.n != 0 && s->options.tools && glint_tool_set_resolve(s->options.tools, found));
    if (found.n == 0 || !known)
        return false;
    glint_buffer_clear(&s->scratch2);
    glint_buffer_append(&s->scratch2, found.data, found.n);
    s->failed = s->failed || s->scratch2.failed;
    *recipient = view_of(&s->scratch2);
    s->count.framing += n;
    if (collected)
        glint_atem_cut(&s->atem, text->n - n);
    else
        text->n -= n;
    s->tail_state = TAIL_NONE;
    return true;
}

static void report_call(struct glint_stream *s, const struct glint_atem_call *call) {
    glint_stream_flush(s);
    struct glint_view name = glint_atem_name(&s->atem, call);
    glint_buffer_clear(&s->scratch);
    glint_utf8_repair(&s->scratch, name.data, name.n);
    s->failed = s->failed || s->scratch.failed;
    struct glint_turn_event event = {.kind = GLINT_TURN_CALL, .index = s->count.n_calls};
    emit(s, event, view_of(&s->scratch));
    glint_buffer_clear(&s->scratch);
    glint_atem_put_arguments(&s->atem, call, &s->scratch);
    s->failed = s->failed || s->scratch.failed;
    event.kind = GLINT_TURN_ARGUMENTS;
    emit(s, event, view_of(&s->scratch));
    s->count.n_calls++;
}

// The calls of a parsed body; what of it is in none of them remains.
static void report_calls(struct glint_stream *s) {
    size_t n =
        s->options.one_call && s->count.n_calls == 0 && s->atem.n_calls > 1 ? 1 : s->atem.n_calls;
    for (size_t i = 0; i < n; i++)
        report_call(s, &s->atem.calls[i]);
    s->count.calls += s->atem.text.n - s->atem.dropped.n;
    glint_stream_remains(s, s->atem.dropped.data, s->atem.dropped.n);
}

// A body that is one JSON object stands for the arguments of the tool it is addressed to.
static bool report_object(struct glint_stream *s) {
    glint_buffer_clear(&s->scratch);
    if (!s->recipient || !glint_argument_put_object(&s->scratch, view_of(&s->atem.text)))
        return false;
    struct glint_turn_event event = {.kind = GLINT_TURN_CALL, .index = s->count.n_calls};
    glint_stream_flush(s);
    emit(s, event, s->recipient->name);
    s->failed = s->failed || s->scratch.failed;
    event.kind = GLINT_TURN_ARGUMENTS;
    emit(s, event, view_of(&s->scratch));
    s->count.n_calls++;
    s->count.calls += s->atem.text.n;
    return true;
}

static void close_tool(struct glint_stream *s, enum glint_body_close how) {
    bool normal = how == GLINT_CLOSE_NORMAL;
    struct glint_atem *atem = &s->atem;
    glint_atem_parse(atem, normal ? GLINT_ATEM_CLOSED : GLINT_ATEM_CUT);
    s->failed = s->failed || atem->failed;
    if (atem->n_calls != 0) {
        report_calls(s);
        return;
    }
    bool blank = true;
    for (size_t i = 0; i < atem->text.n && blank; i++)
        blank = glint_header_is_space(atem->text.data[i]);
    bool plain = normal && !blank && atem->n_invokes == 0;
    if (plain && report_object(s))
        return;
    if (!plain) {
        glint_stream_remains(s, atem->text.data, atem->text.n);
        return;
    }
    s->body = GLINT_BODY_USER;
    put_visible(s, atem->text.data, atem->text.n);
    flush_visible(s);
}

// An answer that began like a call: if it is nothing else, it is one.
static void close_undecided(struct glint_stream *s, enum glint_body_close how) {
    glint_atem_parse(&s->atem, how == GLINT_CLOSE_NORMAL ? GLINT_ATEM_CLOSED : GLINT_ATEM_CUT);
    s->failed = s->failed || s->atem.failed;
    if (glint_atem_is_pure(&s->atem)) {
        report_calls(s);
        return;
    }
    s->undecided = false;
    put_visible(s, s->atem.text.data, s->atem.text.n);
    flush_visible(s);
}

void glint_body_close(struct glint_stream *s, enum glint_body_close how) {
    if (s->body == GLINT_BODY_TOOL) {
        close_tool(s, how);
    } else if (s->undecided) {
        close_undecided(s, how);
    } else {
        release_tail(s);
        flush_visible(s);
    }
    glint_stream_flush(s);
    if (s->state == GLINT_STATE_BODY)
        s->state = GLINT_STATE_BETWEEN;
}
