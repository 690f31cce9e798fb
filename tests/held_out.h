// SPDX-License-Identifier: Apache-2.0
// held_out.h — the prompts of tests/data/held_out_prompts.tsv, rendered and tokenized for the demo
// model. Needs glint.h alone; tests and benchmarks use it.
#ifndef GLINT_TESTS_HELD_OUT_H
#define GLINT_TESTS_HELD_OUT_H

#include <glint/glint.h>

enum { HELD_OUT_MAX = 200 };

struct held_out {
    int n;
    struct {
        struct glint_ids ids;
        bool tools;
    } prompt[HELD_OUT_MAX];
};

// False after printing what was wrong.
bool held_out_open(struct held_out *prompts, const struct glint_engine *engine, const char *path);
void held_out_close(struct held_out *prompts);

#endif
