// SPDX-License-Identifier: Apache-2.0
// stream_fixture.h — runs a generated output through the stream, cut at any places.
#ifndef GLINT_TESTS_STREAM_FIXTURE_H
#define GLINT_TESTS_STREAM_FIXTURE_H

#include "stream/message.h"

// What goes into the stream: a marker, or the text between two markers.
struct stream_piece {
    enum glint_stream_input input;
    size_t begin, end; // of the text, in stream_output.text
};

struct stream_output {
    struct glint_buffer text;    // of all TEXT pieces, one after the other
    struct stream_piece *pieces; // [n], owned
    size_t n;
};

void stream_output_fini(struct stream_output *output);
void stream_output_add(struct stream_output *output, enum glint_stream_input input,
                       struct glint_view text);
void stream_output_add_id(struct stream_output *output, const struct glint_vocab *vocab,
                          int32_t id);

// How text is cut: whole pieces, bytes, or pieces of random size.
enum stream_cut { STREAM_CUT_WHOLE, STREAM_CUT_BYTES, STREAM_CUT_RANDOM };
// Puts everything in, then END or LIMIT; checks that the counts add up and that events come in
// order. The message is the caller's to release.
void stream_output_run(const struct stream_output *output,
                       const struct glint_stream_options *options, bool limit, enum stream_cut cut,
                       uint64_t *random, struct glint_message *message);
bool stream_messages_equal(const struct glint_message *a, const struct glint_message *b);

#endif
