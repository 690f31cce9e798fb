// SPDX-License-Identifier: Apache-2.0
// chat_replay.h — past turns that stand in a prompt as the very ids they were sampled with.
// Before rendering, each such message is replaced by a stand-in that the template must print as
// an answer; afterwards the stand-in's place in the text is where the ids go. What the template
// makes of the other messages does not change.
#ifndef GLINT_PROMPT_CHAT_REPLAY_H
#define GLINT_PROMPT_CHAT_REPLAY_H

#include "prompt/chat.h"

struct glint_replays {
    const struct glint_chat_replay *data; // [n], ascending index
    size_t n;
};

// Checks the replays against normalised messages and puts the stand-ins into the list.
enum glint_status glint_replay_hide(struct glint_heap *heap, struct glint_list *messages,
                                    const struct glint_replays *replays, struct glint_error *err);
// Where the ids go: splices [replays->n], ascending. False when the template printed a stand-in
// in another form; the conversation must then be rendered without replays.
bool glint_replay_find(const struct glint_sink *text, const struct glint_replays *replays,
                       struct glint_chat_splice *splices);

#endif
