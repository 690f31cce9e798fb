// SPDX-License-Identifier: Apache-2.0
// pace.h — how many tokens to propose each round, so that tokens come fastest.
//
// A round of k proposals yields 1 + a1 + a1 a2 + ... tokens, a_i being the chance that proposal i
// is taken once those before it were. It costs a step of k + 1 rows and a pass of the drafter.
// Both are learned as the program runs: chances for each sequence, starting from what earlier
// sequences saw, costs for the whole engine. Proposing nothing is one of the choices; after that a
// short round now and then finds out whether it still is the best.
#ifndef GLINT_DRAFT_PACE_H
#define GLINT_DRAFT_PACE_H

#include "draft/drafter.h"

enum {
    GLINT_PACE_MAX = GLINT_DRAFT_BLOCK_MAX - 1, // proposals of a round at most
    GLINT_PACE_ROWS = 128,                      // step sizes that are told apart
    GLINT_PACE_BLOCKS = 8,                      // sequences drafted for together
};

// How often proposal i was reached and taken, older rounds counting less and less.
struct glint_pace_record {
    double reached[GLINT_PACE_MAX], taken[GLINT_PACE_MAX];
};

struct glint_pace_cost {
    double ms;
    int n; // measurements, up to a limit; 0: none
};

// Of an engine.
struct glint_pace_book {
    struct glint_pace_cost step[GLINT_PACE_ROWS + 1];    // by rows of the step
    struct glint_pace_cost draft[GLINT_PACE_BLOCKS + 1]; // by sequences drafted for
    struct glint_pace_record record;
    // While proposing does not pay for a sequence:
    int pause;   // tokens between trials
    int n_plain; // tokens since the last one
};

// Of a sequence. All zero is a valid start.
struct glint_pace {
    struct glint_pace_record record;
    bool off;    // proposing does not pay
    double gain; // what it seemed to, last: speed against none
};

void glint_pace_book_init(struct glint_pace_book *book);
void glint_pace_learn_step(struct glint_pace_book *book, int n_row, double ms);
void glint_pace_learn_draft(struct glint_pace_book *book, int n_block, double ms);
// Proposals for the next round, 0 to `most`, of one of n_sequence that step together.
int glint_pace_choose(struct glint_pace *pace, struct glint_pace_book *book, int most,
                      int n_sequence);
// A round is over: n proposals, of which the first n_taken were taken; the rest were refused, or
// (open) nobody asked.
void glint_pace_learn_round(struct glint_pace *pace, struct glint_pace_book *book, int n,
                            int n_taken, bool open);

#endif
