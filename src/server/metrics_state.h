// SPDX-License-Identifier: Apache-2.0
// metrics_state.h — what is counted, for the two files that print it. Copied under the lock, then
// read without it.
#ifndef GLINT_SERVER_METRICS_STATE_H
#define GLINT_SERVER_METRICS_STATE_H

#include "server/metrics.h"

#include <pthread.h>

enum { GLINT_METRICS_BOUNDS = 24, GLINT_METRICS_CLASSES = 6, GLINT_METRICS_REASONS = 3 };

struct glint_histogram {
    uint64_t
        bucket[GLINT_METRICS_BOUNDS + 1]; // not cumulative; the last holds what is over all bounds
    double sum;
    uint64_t n;
};

// Upper bounds of the buckets, rising; 0 ends the list.
extern const double glint_first_bounds[], glint_token_bounds[]; // seconds
extern const double glint_whole_bounds[], glint_count_bounds[]; // seconds, tokens

struct glint_metrics {
    pthread_mutex_t lock;
    double opened_ms;
    uint64_t count[GLINT_COUNT_KINDS];
    uint64_t finished[GLINT_METRICS_REASONS];
    uint64_t responses[GLINT_METRICS_CLASSES]; // by hundreds of the status
    uint64_t n_prompt, n_cached, n_generated, n_reasoning;
    struct glint_draft_stats draft;
    uint64_t n_prefill_rows, n_decode_rows, n_decode_steps;
    double prefill_s, decode_s;
    uint64_t n_pictures, n_picture_rows;
    double picture_s;
    int n_running;
    struct glint_reuse_info reuse;
    struct glint_histogram first, queue, prefill, decode, inference, whole; // seconds
    struct glint_histogram token, gap;                                      // seconds
    struct glint_histogram prompt, generated;                               // tokens
};

// ---- printing ---------------------------------------------------------------------------------

// A family of names.
struct glint_metrics_page {
    struct glint_buffer *out;
    const char *prefix; // "glint_"
    const char *labels; // of every sample: "a=\"b\"", without braces; "": none
};

void glint_metrics_head(const struct glint_metrics_page *page, const char *name, const char *type,
                        const char *help);
void glint_metrics_counter(const struct glint_metrics_page *page, const char *name,
                           const char *help, uint64_t value);
void glint_metrics_seconds(const struct glint_metrics_page *page, const char *name,
                           const char *help, double value); // a counter too
void glint_metrics_gauge(const struct glint_metrics_page *page, const char *name, const char *help,
                         double value);
void glint_metrics_histogram(const struct glint_metrics_page *page, const char *name,
                             const char *help, const struct glint_histogram *histogram,
                             const double *bounds);
// Counters of one name, whose head was put, that differ in a label: n words and values.
void glint_metrics_labelled(const struct glint_metrics_page *page, const char *name,
                            const char *label, const char *const *words, const uint64_t *values,
                            int n);

// The names of other servers, of the numbers that have the same meaning there.
void glint_metrics_vllm(const struct glint_metrics *metrics, int n_queued, const char *model,
                        struct glint_buffer *out);
void glint_metrics_llamacpp(const struct glint_metrics *metrics, int n_queued,
                            struct glint_buffer *out);

#endif
