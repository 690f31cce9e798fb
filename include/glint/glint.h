// SPDX-License-Identifier: Apache-2.0
// glint.h — the only public header of glint, an inference engine for Muse Glimmer.
//
// Two objects: an engine (one model file, its weights, its workers) and a session (one sequence
// of tokens and its key/value cache). Callers hand over the whole token prefix; the session
// works out what it already holds. Nothing here shows tensors.
//
// Conventions: every function that can fail returns enum glint_status and takes, last, a
// struct glint_error * (may be NULL) whose text names file, field, what was found and what was
// expected. open/close own a handle; close(&h) sets it to NULL and accepts NULL. Strings are
// UTF-8. Sizes are bytes, counts are tokens unless the name says otherwise. One thread uses an
// engine and its sessions at a time.
#ifndef GLINT_GLINT_H
#define GLINT_GLINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GLINT_VERSION "0.1.0"

// ---- errors ---------------------------------------------------------------------------------

enum glint_status {
    GLINT_OK = 0,
    GLINT_E_ARG = 1,         // the caller passed something impossible
    GLINT_E_NOMEM = 2,       // memory, or the plan does not fit
    GLINT_E_IO = 3,          // the operating system refused a read or a write
    GLINT_E_FORMAT = 4,      // a file or a text is malformed
    GLINT_E_UNSUPPORTED = 5, // well-formed, but not something glint does
    GLINT_E_LIMIT = 6,       // over a stated limit (context, depth, size)
    GLINT_E_CANCELLED = 7,   // the caller's cancel callback said so
    GLINT_E_DEVICE = 8,      // a device failed
    GLINT_E_BUSY = 9,        // a queue is full
    GLINT_E_NOTFOUND = 10,   // no such file, key or tensor
    GLINT_E_INTERNAL = 11,   // our own mistake
};

struct glint_error {
    enum glint_status status;
    char text[1000]; // always terminated; empty when status is GLINT_OK
};

// "io", "format", ...: a short stable word for a status.
const char *glint_status_name(enum glint_status status);

#ifdef __cplusplus
}
#endif
#endif
