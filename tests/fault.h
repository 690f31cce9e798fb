// SPDX-License-Identifier: Apache-2.0
// fault.h — runs a function with each of its allocations failing in turn.
// fn does the whole life of a thing: opens it, uses it, closes it. Every run must give back all
// it took; a run that met a failure must report GLINT_E_NOMEM with a text (or do without).
#ifndef GLINT_TESTS_FAULT_H
#define GLINT_TESTS_FAULT_H

#include "base/alloc.h"
#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef enum glint_status (*glint_fault_fn)(void *context, struct glint_error *err);

// Returns the number of allocations fn makes when all goes well.
static inline uint64_t glint_fault_each(glint_fault_fn fn, void *context) {
    size_t blocks = glint_alloc_live_blocks();
    for (uint64_t n = 1; n < 1000000; n++) {
        struct glint_error err = {.status = GLINT_OK};
        glint_alloc_fail_at(n);
        enum glint_status status = fn(context, &err);
        uint64_t left = glint_alloc_fail_at(0);
        if (glint_alloc_live_blocks() != blocks)
            fail_msg("allocation %u failing: %d blocks were not given back", (unsigned)n,
                     (int)(glint_alloc_live_blocks() - blocks));
        if (left != 0) { // the order did not strike: this run was whole
            if (status != GLINT_OK)
                fail_msg("no allocation failing: %s: %s", glint_status_name(status), err.text);
            return n - left;
        }
        if (status != GLINT_OK && (status != GLINT_E_NOMEM || err.text[0] == 0))
            fail_msg("allocation %u failing: found %s \"%s\", expected memory and a text",
                     (unsigned)n, glint_status_name(status), err.text);
    }
    fail_msg("more than a million allocations");
    return 0;
}

#endif
