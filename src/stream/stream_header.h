// SPDX-License-Identifier: Apache-2.0
// stream_header.h — the grammar of message headers, as far as a text has come.
#ifndef GLINT_STREAM_STREAM_HEADER_H
#define GLINT_STREAM_STREAM_HEADER_H

#include "base/buffer.h"

enum glint_header_fit {
    GLINT_HEADER_BAD,    // no continuation makes it a header
    GLINT_HEADER_PREFIX, // more text is needed
    GLINT_HEADER_WHOLE,  // a header as it stands
};

struct glint_header {
    enum glint_header_fit fit;
    bool other_role;             // "user", "tool x", ...: not the assistant's
    struct glint_view recipient; // empty when there is none
};

// first: the assistant's role stands in the prompt already, only the recipient may follow.
struct glint_header glint_header_read(struct glint_view text, bool first);

// The text ends in a recipient that could be a header on its own: (its start or one white-space
// character) "to=" recipient, then blanks. The white space counts to `n`, the bytes of the tail.
struct glint_view glint_header_tail(struct glint_view text, size_t *n);

bool glint_header_is_space(char c);

#endif
