// SPDX-License-Identifier: Apache-2.0
// trace.h — a file that tells, for each request, how much of its prompt had been evaluated before
// and why not more. It holds words of prompts: only its owner may read it (mode 0600).
#ifndef GLINT_SERVER_TRACE_H
#define GLINT_SERVER_TRACE_H

#include "server/work.h"

struct glint_trace;

// Appends to the file, or makes it. GLINT_E_IO with its name when that cannot be.
enum glint_status glint_trace_open(struct glint_trace **trace, const char *path,
                                   struct glint_error *err);
void glint_trace_close(struct glint_trace **trace);

// One line of JSON: time (Unix seconds), request, choice; prompt, kept, common, checkpoint and
// forgotten in tokens; why, in words; and when another text was there: before, here, there, the
// texts around the first token that differs. Engine thread. A full disk loses lines.
void glint_trace_put(struct glint_trace *trace, const struct glint_engine *engine,
                     const struct glint_work *work, const struct glint_resumed *resumed);

#endif
