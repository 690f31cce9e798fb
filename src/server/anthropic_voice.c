// SPDX-License-Identifier: Apache-2.0
// anthropic_voice.c — content blocks, one after the other: in a stream as events that open, fill
// and close them, else gathered in a list.
#include "server/anthropic_voice.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum block { BLOCK_NONE, BLOCK_THINKING, BLOCK_TEXT, BLOCK_CALL };

struct message_voice {
    struct glint_voice voice;
    char id[GLINT_RANDOM_ID_BYTES];
    char model[200];
    struct glint_buffer stop; // the stop sequence that ended it
    char request_id[65];
    enum block block;           // that is open
    int n_blocks;               // begun so far
    struct glint_buffer blocks; // not streamed: JSON of those begun, without the brackets
    struct glint_usage usage;
    const char *stop_reason;
};

static struct glint_json_writer begin_event(struct glint_buffer *out, const char *type) {
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    glint_buffer_printf(out, "event: %s\ndata: ", type);
    glint_json_begin_object(&w);
    glint_json_key(&w, "type");
    glint_json_text(&w, type);
    return w;
}

static void end_event(struct glint_json_writer *w) {
    glint_json_end_object(w);
    glint_buffer_append_text(w->out, "\n\n");
}

static void put_usage(struct glint_json_writer *w, const struct glint_usage *usage) {
    glint_json_begin_object(w);
    glint_json_key(w, "input_tokens");
    glint_json_i64(w, usage->n_prompt - usage->n_cached);
    glint_json_key(w, "cache_creation_input_tokens");
    glint_json_i64(w, 0);
    glint_json_key(w, "cache_read_input_tokens");
    glint_json_i64(w, usage->n_cached);
    glint_json_key(w, "output_tokens");
    glint_json_i64(w, usage->n_generated);
    glint_json_end_object(w);
}

static void put_stop(struct glint_json_writer *w, const struct message_voice *v) {
    glint_json_key(w, "stop_reason");
    if (v->stop_reason)
        glint_json_text(w, v->stop_reason);
    else
        glint_json_null(w);
    glint_json_key(w, "stop_sequence");
    if (v->stop.n != 0)
        glint_json_string(w, (struct glint_view){v->stop.data, v->stop.n});
    else
        glint_json_null(w);
}

static void put_head(struct glint_json_writer *w, const struct message_voice *v) {
    glint_json_begin_object(w);
    glint_json_key(w, "id");
    glint_json_text(w, v->id);
    glint_json_key(w, "type");
    glint_json_text(w, "message");
    glint_json_key(w, "role");
    glint_json_text(w, "assistant");
    glint_json_key(w, "model");
    glint_json_text(w, v->model);
    put_stop(w, v);
    glint_json_key(w, "usage");
    put_usage(w, &v->usage);
    glint_json_key(w, "content");
}

static void keep_finish(struct message_voice *v, const struct glint_note *note) {
    static const char *const reasons[] = {"end_turn", "max_tokens", "tool_use"};
    v->usage = note->usage;
    if (note->reason == GLINT_FINISH_STOP)
        glint_buffer_append(&v->stop, note->text, note->n);
    v->stop_reason = v->stop.n != 0 ? "stop_sequence" : reasons[note->reason];
}

// Members of an empty block of this kind; a call's note gives its name.
static void put_empty_block(struct glint_json_writer *w, enum block kind,
                            const struct glint_note *note) {
    static const char *const types[] = {"", "thinking", "text", "tool_use"};
    glint_json_key(w, "type");
    glint_json_text(w, types[kind]);
    if (kind == BLOCK_CALL) {
        char id[GLINT_RANDOM_ID_BYTES];
        glint_note_call_id(id, "toolu_", note);
        glint_json_key(w, "id");
        glint_json_text(w, id);
        glint_json_key(w, "name");
        glint_json_string(w, (struct glint_view){note->text, note->n});
    }
}

// ---- a stream ---------------------------------------------------------------------------------

static void begin_stream(struct glint_voice *voice, struct glint_buffer *out) {
    struct message_voice *v = (struct message_voice *)voice;
    struct glint_json_writer w = begin_event(out, "message_start");
    v->usage.n_prompt = voice->n_prompt;
    glint_json_key(&w, "message");
    put_head(&w, v);
    glint_json_begin_array(&w);
    glint_json_end_array(&w);
    glint_json_end_object(&w);
    end_event(&w);
}

static void say_delta(struct message_voice *v, const char *type, const char *key,
                      struct glint_view text, struct glint_buffer *out) {
    struct glint_json_writer w = begin_event(out, "content_block_delta");
    glint_json_key(&w, "index");
    glint_json_i64(&w, v->n_blocks - 1);
    glint_json_key(&w, "delta");
    glint_json_begin_object(&w);
    glint_json_key(&w, "type");
    glint_json_text(&w, type);
    glint_json_key(&w, key);
    glint_json_string(&w, text);
    glint_json_end_object(&w);
    end_event(&w);
}

static void close_block(struct message_voice *v, struct glint_buffer *out) {
    if (v->block == BLOCK_NONE)
        return;
    if (v->block == BLOCK_THINKING)
        say_delta(v, "signature_delta", "signature", glint_view_of("glint"), out);
    v->block = BLOCK_NONE;
    struct glint_json_writer w = begin_event(out, "content_block_stop");
    glint_json_key(&w, "index");
    glint_json_i64(&w, v->n_blocks - 1);
    end_event(&w);
}

static void open_block(struct message_voice *v, enum block kind, const struct glint_note *note,
                       struct glint_buffer *out) {
    close_block(v, out);
    v->block = kind;
    struct glint_json_writer w = begin_event(out, "content_block_start");
    glint_json_key(&w, "index");
    glint_json_i64(&w, v->n_blocks++);
    glint_json_key(&w, "content_block");
    glint_json_begin_object(&w);
    put_empty_block(&w, kind, note);
    if (kind == BLOCK_CALL) {
        glint_json_key(&w, "input");
        glint_json_begin_object(&w);
        glint_json_end_object(&w);
    } else {
        glint_json_key(&w, kind == BLOCK_TEXT ? "text" : "thinking");
        glint_json_text(&w, "");
    }
    if (kind == BLOCK_THINKING) {
        glint_json_key(&w, "signature");
        glint_json_text(&w, "");
    }
    glint_json_end_object(&w);
    end_event(&w);
}

static void say_error(struct message_voice *v, const struct glint_note *note,
                      struct glint_buffer *out) {
    struct glint_api_error error;
    struct glint_error from = {.status = note->status};
    snprintf(from.text, sizeof from.text, "%s", note->text);
    glint_api_fail_from(&error, &from);
    glint_buffer_append_text(out, "event: error\ndata: ");
    glint_api_error_put(&error, GLINT_PROTOCOL_ANTHROPIC, v->request_id, out);
    glint_buffer_append_text(out, "\n\n");
    v->voice.failed = true;
}

static void note_stream(struct glint_voice *voice, const struct glint_note *note,
                        struct glint_buffer *out) {
    struct message_voice *v = (struct message_voice *)voice;
    struct glint_view text = {note->text, note->n};
    if (v->voice.failed)
        return;
    switch (note->kind) {
    case GLINT_NOTE_REASONING:
        if (v->block != BLOCK_THINKING)
            open_block(v, BLOCK_THINKING, note, out);
        say_delta(v, "thinking_delta", "thinking", text, out);
        break;
    case GLINT_NOTE_CONTENT:
        if (v->block != BLOCK_TEXT)
            open_block(v, BLOCK_TEXT, note, out);
        say_delta(v, "text_delta", "text", text, out);
        break;
    case GLINT_NOTE_CALL:
        open_block(v, BLOCK_CALL, note, out);
        break;
    case GLINT_NOTE_ARGUMENTS:
        say_delta(v, "input_json_delta", "partial_json", text, out);
        break;
    case GLINT_NOTE_FINISH:
        close_block(v, out);
        keep_finish(v, note);
        break;
    case GLINT_NOTE_FAIL:
        say_error(v, note, out);
        break;
    default:
        break;
    }
}

static void end_stream(struct glint_voice *voice, struct glint_buffer *out) {
    struct message_voice *v = (struct message_voice *)voice;
    struct glint_json_writer w = begin_event(out, "message_delta");
    glint_json_key(&w, "delta");
    glint_json_begin_object(&w);
    put_stop(&w, v);
    glint_json_end_object(&w);
    glint_json_key(&w, "usage");
    put_usage(&w, &v->usage);
    end_event(&w);
    w = begin_event(out, "message_stop");
    end_event(&w);
}

// ---- the whole answer at once -----------------------------------------------------------------

static void finish_block(struct message_voice *v) {
    static const char *const ends[] = {"", "\",\"signature\":\"glint\"}", "\"}", "}"};
    glint_buffer_append_text(&v->blocks, ends[v->block]);
    v->block = BLOCK_NONE;
}

// Up to where the block's own text follows: inside a string, or the value of "input".
static void start_block(struct message_voice *v, enum block kind, const struct glint_note *note) {
    static const char *const keys[] = {"", ",\"thinking\":\"", ",\"text\":\"", ",\"input\":"};
    finish_block(v);
    struct glint_json_writer w = {
        .out = &v->blocks, .style = GLINT_JSON_COMPACT, .follows = v->blocks.n != 0};
    v->block = kind;
    glint_json_begin_object(&w);
    put_empty_block(&w, kind, note);
    glint_buffer_append_text(&v->blocks, keys[kind]);
}

static void add_quoted(struct glint_buffer *out, struct glint_view text) {
    struct glint_buffer quoted = {.data = NULL};
    glint_json_put_string(&quoted, text);
    if (quoted.failed)
        out->failed = true;
    else
        glint_buffer_append(out, quoted.data + 1, quoted.n - 2);
    glint_buffer_fini(&quoted);
}

static void note_whole(struct glint_voice *voice, const struct glint_note *note,
                       struct glint_buffer *out) {
    struct message_voice *v = (struct message_voice *)voice;
    struct glint_view text = {note->text, note->n};
    (void)out;
    switch (note->kind) {
    case GLINT_NOTE_REASONING:
    case GLINT_NOTE_CONTENT: {
        enum block kind = note->kind == GLINT_NOTE_CONTENT ? BLOCK_TEXT : BLOCK_THINKING;
        if (v->block != kind)
            start_block(v, kind, note);
        add_quoted(&v->blocks, text);
        break;
    }
    case GLINT_NOTE_CALL:
        start_block(v, BLOCK_CALL, note);
        break;
    case GLINT_NOTE_ARGUMENTS:
        glint_buffer_append(&v->blocks, text.data, text.n);
        break;
    case GLINT_NOTE_FINISH:
        finish_block(v);
        keep_finish(v, note);
        break;
    default:
        break;
    }
}

static void end_whole(struct glint_voice *voice, struct glint_buffer *out) {
    struct message_voice *v = (struct message_voice *)voice;
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    put_head(&w, v);
    glint_json_begin_array(&w);
    glint_buffer_append(out, v->blocks.data, v->blocks.n);
    glint_json_end_array(&w);
    glint_json_end_object(&w);
    out->failed = out->failed || v->blocks.failed;
}

static void close_voice(struct glint_voice *voice) {
    struct message_voice *v = (struct message_voice *)voice;
    glint_buffer_fini(&v->blocks);
    glint_buffer_fini(&v->stop);
    glint_free(v);
}

bool glint_anthropic_voice_open(struct glint_voice **out, const struct glint_json *root,
                                const struct glint_exchange *x, struct glint_api_error *error) {
    struct glint_fields fields = {root, error};
    const char *model = x->server->model;
    bool stream = false;
    if (!glint_field_bool(&fields, "stream", &stream) ||
        !glint_field_text(&fields, "model", &model))
        return false;
    struct message_voice *v = glint_alloc(1, sizeof *v);
    if (!v) {
        glint_api_fail(error, 500, NULL, "no memory for the request");
        return false;
    }
    v->voice = (struct glint_voice){.stream = stream,
                                    .content_type = "text/event-stream",
                                    .ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n",
                                    .begin = begin_stream,
                                    .note = stream ? note_stream : note_whole,
                                    .end = stream ? end_stream : end_whole,
                                    .close = close_voice};
    glint_random_id(v->id, "msg_");
    snprintf(v->request_id, sizeof v->request_id, "%s", x->request_id);
    glint_utf8_copy(v->model, sizeof v->model, model);
    *out = &v->voice;
    return true;
}
