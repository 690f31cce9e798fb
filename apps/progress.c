// SPDX-License-Identifier: Apache-2.0
// progress.c — draws the bar or prints the lines.
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR_CELLS = 30 };

double glint_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

double glint_per_second(double n, double ms) {
    return ms > 0 ? n * 1e3 / ms : 0;
}

void glint_progress_begin(struct glint_progress *progress, const char *what, uint64_t total,
                          bool quiet) {
    *progress = (struct glint_progress){.what = what, .total = total, .quiet = quiet};
    progress->terminal = isatty(STDERR_FILENO) == 1;
    progress->began_ms = progress->shown_ms = glint_now_ms();
}

void glint_progress_step(struct glint_progress *progress, uint64_t done) {
    double now = glint_now_ms();
    if (progress->quiet || now - progress->shown_ms < (progress->terminal ? 100 : 5000))
        return;
    progress->shown_ms = now;
    double share = progress->total ? (double)done / (double)progress->total : 1;
    double rate = (double)done / (progress->tokens ? 1 : 1e6) / ((now - progress->began_ms) / 1e3);
    char speed[32] = "";
    if (!progress->plain)
        snprintf(speed, sizeof speed, " %.0f %s", rate, progress->tokens ? "tok/s" : "MB/s");
    if (!progress->terminal) {
        fprintf(stderr, "%s: %.0f %%%s%s\n", progress->what, share * 100, *speed ? "," : "", speed);
        return;
    }
    char bar[BAR_CELLS + 1];
    for (int i = 0; i < BAR_CELLS; i++)
        bar[i] = i < share * BAR_CELLS ? '#' : '.';
    bar[BAR_CELLS] = 0;
    fprintf(stderr, "\r%s [%s] %3.0f %%%s \033[K", progress->what, bar, share * 100, speed);
    fflush(stderr);
}

void glint_progress_end(struct glint_progress *progress, bool good) {
    if (progress->quiet)
        return;
    if (progress->terminal)
        fprintf(stderr, "\r\033[K");
    if (good && !progress->tokens && !progress->plain)
        fprintf(stderr, "%s: %.1f MB in %.1f s\n", progress->what, (double)progress->total / 1e6,
                (glint_now_ms() - progress->began_ms) / 1e3);
}
