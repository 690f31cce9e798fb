// SPDX-License-Identifier: Apache-2.0
// draft.h — the drafter at work: it follows the target's sequences and proposes what comes next.
//
// A target step is watched through a tap that copies the hidden rows of the layers the drafter
// reads. The rows of a sequence wait in a small buffer until somebody asks for proposals or the
// buffer is full; then they are projected and their keys and values go into the drafter's own
// cache, its context. So a sequence that is not drafted for pays little.
//
// The context never runs ahead of what the caller names as held: the rows of proposals that were
// not taken are overwritten in the buffer. Proposals change no text, only how fast it comes.
#ifndef GLINT_DRAFT_DRAFT_H
#define GLINT_DRAFT_DRAFT_H

#include "draft/drafter.h"
#include "layer/forward.h"

struct glint_draft_params {
    int n_sequence;
    int n_context;                     // positions of a sequence at most
    int max_rows;                      // rows of a target step at most
    int slack;                         // rows that the target can roll back
    int window;                        // of the target's sliding layers
    enum glint_dtype dtype_k, dtype_v; // of the context: F16 or F32
    bool exact;                        // float activations in matrix products
};

struct glint_draft;

// Device bytes of context and scratch.
uint64_t glint_draft_bytes(const struct glint_drafter_config *config,
                           const struct glint_draft_params *params);
// Host bytes of one context at most, as glint_draft_save writes it.
uint64_t glint_draft_saved_bytes(const struct glint_drafter_config *config,
                                 const struct glint_draft_params *params);
// Raises a backend's limits to what the drafter needs.
void glint_draft_limits(const struct glint_drafter_config *config,
                        const struct glint_draft_params *params,
                        struct glint_backend_limits *limits);

// gguf and target are borrowed and outlive the draft.
enum glint_status glint_draft_open(struct glint_draft **draft,
                                   const struct glint_drafter_config *config,
                                   const struct glint_gguf *gguf, const struct glint_model *target,
                                   const struct glint_draft_params *params,
                                   struct glint_error *err);
void glint_draft_close(struct glint_draft **draft);

const struct glint_drafter *glint_draft_drafter(const struct glint_draft *draft);
// Proposals of a round at most.
int glint_draft_max(const struct glint_draft *draft);

// The tap for a target step; it passes on to `other` (may be NULL). Valid until the next call.
const struct glint_tap *glint_draft_watch(struct glint_draft *draft, const struct glint_tap *other);
// After the step over `batch`: its rows follow what each sequence held.
enum glint_status glint_draft_keep(struct glint_draft *draft, const struct glint_batch *batch,
                                   struct glint_error *err);
// The sequence holds no more than `length` tokens now. Possible whenever the target can.
void glint_draft_truncate(struct glint_draft *draft, int i_sequence, int length);
// Brings the context up to the `length` tokens that the sequence holds.
enum glint_status glint_draft_catch_up(struct glint_draft *draft, int i_sequence, int length,
                                       struct glint_error *err);

// What has to be kept to go on proposing after the first `length` tokens of a sequence: the context
// rows of the last window, as bytes (batch/kv_ring.h). Put back, proposals are the same to the bit.
size_t glint_draft_context_bytes(const struct glint_draft *draft, int length);
// Copies them out [glint_draft_context_bytes(length)]. The sequence holds `held` tokens, with which
// the context first catches up; the target can be cut to `length`.
enum glint_status glint_draft_save(struct glint_draft *draft, int i_sequence, int length, int held,
                                   void *bytes, struct glint_error *err);
// The sequence's context is dropped and becomes what was saved at `saved` tokens, cut to `length`
// of them, which the target can do too. Rows that were not saved are zero then: only what is
// proposed suffers, for a while.
enum glint_status glint_draft_restore(struct glint_draft *draft, int i_sequence, int saved,
                                      int length, const void *bytes, struct glint_error *err);

struct glint_draft_ask {
    int i_sequence;
    int length;     // tokens held; the context has caught up
    int32_t anchor; // the token that follows them
    int n;          // proposals wanted after it, 1 to glint_draft_max
    int32_t *ids;   // [n] the proposals
};
// tap: looks at the drafter's own hidden rows; with one, the anchor's row counts as wanted too.
enum glint_status glint_draft_propose(struct glint_draft *draft, const struct glint_draft_ask *asks,
                                      int n_ask, const struct glint_tap *tap,
                                      struct glint_error *err);

#endif
