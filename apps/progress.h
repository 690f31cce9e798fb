// SPDX-License-Identifier: Apache-2.0
// progress.h — how far long work is: a bar on a terminal, a plain line now and then elsewhere.
// Everything goes to stderr.
#ifndef GLINT_APPS_PROGRESS_H
#define GLINT_APPS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

double glint_now_ms(void);                    // monotonic
double glint_per_second(double n, double ms); // 0 when no time has passed

struct glint_progress {
    const char *what; // "OUT.gguf"
    uint64_t total;   // bytes, or tokens
    bool tokens;      // set after begin: done and total count tokens; no last line then
    bool plain;       // set after begin: shares alone, no rate; no last line then
    bool quiet;
    bool terminal;
    double began_ms, shown_ms; // monotonic
};

void glint_progress_begin(struct glint_progress *progress, const char *what, uint64_t total,
                          bool quiet);
// Cheap: shows something at most ten times a second (a terminal) or every five seconds.
void glint_progress_step(struct glint_progress *progress, uint64_t done);
// The last line: size and time; or, when the work failed, nothing but the end of the bar.
void glint_progress_end(struct glint_progress *progress, bool good);

#endif
