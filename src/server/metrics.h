// SPDX-License-Identifier: Apache-2.0
// metrics.h — counters and histograms of the server, in Prometheus' text form.
#ifndef GLINT_SERVER_METRICS_H
#define GLINT_SERVER_METRICS_H

#include "server/outbox.h"

enum glint_count {
    GLINT_COUNT_FAILED,
    GLINT_COUNT_REUSED,    // prompts of which something had been evaluated before
    GLINT_COUNT_PREEMPTED, // running sequences that have to be evaluated again
    GLINT_COUNT_CANCELLED_QUEUED,
    GLINT_COUNT_CANCELLED_PREFILL,
    GLINT_COUNT_CANCELLED_DECODE,
    GLINT_COUNT_CANCELLED_PICTURE, // while its pictures were looked at
    GLINT_COUNT_REJECTED_BODY,     // 413
    GLINT_COUNT_REJECTED_QUEUE,    // 429
    GLINT_COUNT_REJECTED_KEY,      // 401
    GLINT_COUNT_REJECTED_HOST,     // 403
    GLINT_COUNT_PICTURE_HITS,      // pictures that need not be looked at again
    GLINT_COUNT_KINDS,
};

struct glint_metrics;

struct glint_metrics *glint_metrics_open(void); // NULL: no memory
void glint_metrics_close(struct glint_metrics **metrics);

void glint_metrics_count(struct glint_metrics *metrics, enum glint_count kind, uint64_t n);
// A generation that ended by itself.
void glint_metrics_request(struct glint_metrics *metrics, const struct glint_usage *usage,
                           enum glint_turn_reason reason);
// A step of the engine: rows of prompts, rows of decoding sequences.
void glint_metrics_step(struct glint_metrics *metrics, int n_prefill, int n_decode, double ms);
// Time between two steps that brought one sequence tokens.
void glint_metrics_gap(struct glint_metrics *metrics, double ms);
// A picture that has been looked at, of n_tokens rows.
void glint_metrics_picture(struct glint_metrics *metrics, int n_tokens, double ms);
// What the cache keeps now.
void glint_metrics_reuse(struct glint_metrics *metrics, const struct glint_reuse_info *info);
void glint_metrics_load(struct glint_metrics *metrics, int n_running);
// An answer that went out.
void glint_metrics_response(struct glint_metrics *metrics, int status);

struct glint_metrics_asked {
    int n_queued;        // requests that wait
    const char *model;   // a label of vLLM's names
    bool vllm, llamacpp; // also under their names
};
void glint_metrics_put(struct glint_metrics *metrics, const struct glint_metrics_asked *asked,
                       struct glint_buffer *out);

#endif
