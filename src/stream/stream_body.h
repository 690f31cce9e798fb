// SPDX-License-Identifier: Apache-2.0
// stream_body.h — what the two halves of the stream share. stream.c owns headers and boundaries,
// stream_body.c what stands inside a body and what of it is given out when.
#ifndef GLINT_STREAM_STREAM_BODY_H
#define GLINT_STREAM_STREAM_BODY_H

#include "stream/atem.h"
#include "stream/stop_match.h"
#include "stream/stream.h"
#include "token/decode.h"

enum glint_stream_state {
    GLINT_STATE_FIRST_HEADER,
    GLINT_STATE_HEADER,
    GLINT_STATE_BETWEEN,
    GLINT_STATE_BODY,
    GLINT_STATE_DONE,
};

enum glint_body { GLINT_BODY_SELF, GLINT_BODY_USER, GLINT_BODY_TOOL };

struct glint_stream {
    struct glint_stream_options options;
    enum glint_stream_state state;
    struct glint_buffer header; // text of the header being read
    bool pending;               // in a body, a START came: `header` may become a new message's
    bool pending_in_value;      // ... inside an open parameter value

    enum glint_body body;
    bool undecided;     // an answer that so far may turn out to be a call: all of it in atem.text
    bool body_has_text; // something of this body was given out
    struct glint_buffer tail; // end of a body that may be a header without markers
    enum { TAIL_NONE, TAIL_SPACE, TAIL_T, TAIL_TO, TAIL_NAME, TAIL_BLANK } tail_state;
    size_t tail_name; // bytes of the recipient
    struct glint_atem atem;
    const struct glint_tool *recipient; // of a tool body, when it is declared
    struct glint_stop_match stops;
    struct glint_decoder decoder;

    struct glint_buffer out; // visible text collected for one event
    enum glint_turn_kind out_kind;
    struct glint_buffer scratch, scratch2;
    bool has_reasoning, has_content;
    bool stopped; // by a stop string
    struct glint_stream_count count;
    bool failed; // out of memory
};

// True when calls may be made at all.
bool glint_stream_has_tools(const struct glint_stream *s);
void glint_body_open(struct glint_stream *s, struct glint_view recipient);
void glint_body_put(struct glint_stream *s, const char *data, size_t n);
enum glint_body_close { GLINT_CLOSE_NORMAL, GLINT_CLOSE_CUT };
void glint_body_close(struct glint_stream *s, enum glint_body_close how);
bool glint_body_in_value(struct glint_stream *s);
// The body ends in a recipient that is self, user or a declared tool: cuts that tail off and
// gives the recipient (in scratch2). False: it does not, nothing changed.
bool glint_body_take_tail(struct glint_stream *s, struct glint_view *recipient);

void glint_stream_flush(struct glint_stream *s); // emits `out`
void glint_stream_remains(struct glint_stream *s, const char *data, size_t n);
void glint_stream_end(struct glint_stream *s, bool limit);

#endif
