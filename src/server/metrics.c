// SPDX-License-Identifier: Apache-2.0
// metrics.c — plain counts under one lock.
#include "server/metrics.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "server/metrics_state.h"

// OpenTelemetry's for generative models.
const double glint_first_bounds[] = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                                     1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 0};
const double glint_token_bounds[] = {.01, .025, .05, .075, .1,  .15, .2,
                                     .3,  .4,   .5,  .75,  1.0, 2.5, 0};
const double glint_whole_bounds[] = {.1, .25, .5,  1,   2.5, 5,    10,   20,
                                     40, 80,  160, 320, 640, 1280, 2560, 0};
const double glint_count_bounds[] = {1,    2,    5,     10,    20,    50,  100, 200, 500, 1000,
                                     2000, 5000, 10000, 20000, 50000, 1e5, 2e5, 5e5, 1e6, 0};

struct glint_metrics *glint_metrics_open(void) {
    struct glint_metrics *metrics = glint_alloc(1, sizeof *metrics);
    if (!metrics)
        return NULL;
    pthread_mutex_init(&metrics->lock, NULL);
    metrics->opened_ms = glint_clock_ms();
    return metrics;
}

void glint_metrics_close(struct glint_metrics **metrics) {
    if (*metrics)
        pthread_mutex_destroy(&(*metrics)->lock);
    glint_free(*metrics);
    *metrics = NULL;
}

void glint_metrics_count(struct glint_metrics *metrics, enum glint_count kind, uint64_t n) {
    pthread_mutex_lock(&metrics->lock);
    metrics->count[kind] += n;
    pthread_mutex_unlock(&metrics->lock);
}

static void observe(struct glint_histogram *histogram, const double *bounds, double value) {
    int i = 0;
    while (bounds[i] != 0 && value > bounds[i])
        i++;
    histogram->bucket[i]++;
    histogram->sum += value;
    histogram->n++;
}

void glint_metrics_request(struct glint_metrics *metrics, const struct glint_usage *usage,
                           enum glint_turn_reason reason) {
    double queue = usage->queue_ms / 1000, prefill = usage->prefill_ms / 1000;
    double decode = usage->decode_ms / 1000;
    pthread_mutex_lock(&metrics->lock);
    metrics->finished[reason]++;
    metrics->n_prompt += (uint64_t)usage->n_prompt;
    metrics->n_cached += (uint64_t)usage->n_cached;
    metrics->n_generated += (uint64_t)usage->n_generated;
    metrics->n_reasoning += (uint64_t)usage->n_reasoning;
    metrics->draft.n_round += usage->draft.n_round;
    metrics->draft.n_proposed += usage->draft.n_proposed;
    metrics->draft.n_accepted += usage->draft.n_accepted;
    observe(&metrics->prompt, glint_count_bounds, usage->n_prompt);
    observe(&metrics->generated, glint_count_bounds, usage->n_generated);
    observe(&metrics->queue, glint_first_bounds, queue);
    observe(&metrics->prefill, glint_first_bounds, prefill);
    observe(&metrics->decode, glint_whole_bounds, decode);
    observe(&metrics->inference, glint_whole_bounds, prefill + decode);
    observe(&metrics->whole, glint_whole_bounds, queue + prefill + decode);
    if (usage->n_generated > 0)
        observe(&metrics->first, glint_first_bounds, queue + prefill);
    if (usage->n_generated > 1)
        observe(&metrics->token, glint_token_bounds, decode / (usage->n_generated - 1));
    pthread_mutex_unlock(&metrics->lock);
}

void glint_metrics_step(struct glint_metrics *metrics, int n_prefill, int n_decode, double ms) {
    pthread_mutex_lock(&metrics->lock);
    metrics->n_prefill_rows += (uint64_t)n_prefill;
    metrics->n_decode_rows += (uint64_t)n_decode;
    metrics->n_decode_steps += n_decode != 0;
    *(n_decode != 0 ? &metrics->decode_s : &metrics->prefill_s) += ms / 1000;
    pthread_mutex_unlock(&metrics->lock);
}

void glint_metrics_gap(struct glint_metrics *metrics, double ms) {
    pthread_mutex_lock(&metrics->lock);
    observe(&metrics->gap, glint_token_bounds, ms / 1000);
    pthread_mutex_unlock(&metrics->lock);
}

void glint_metrics_picture(struct glint_metrics *metrics, int n_tokens, double ms) {
    pthread_mutex_lock(&metrics->lock);
    metrics->n_pictures++;
    metrics->n_picture_rows += (uint64_t)n_tokens;
    metrics->picture_s += ms / 1000;
    pthread_mutex_unlock(&metrics->lock);
}

void glint_metrics_reuse(struct glint_metrics *metrics, const struct glint_reuse_info *info) {
    pthread_mutex_lock(&metrics->lock);
    metrics->reuse = *info;
    pthread_mutex_unlock(&metrics->lock);
}

void glint_metrics_load(struct glint_metrics *metrics, int n_running) {
    pthread_mutex_lock(&metrics->lock);
    metrics->n_running = n_running;
    pthread_mutex_unlock(&metrics->lock);
}

void glint_metrics_response(struct glint_metrics *metrics, int status) {
    int i = status / 100;
    pthread_mutex_lock(&metrics->lock);
    metrics->responses[i >= 0 && i < GLINT_METRICS_CLASSES ? i : 0]++;
    pthread_mutex_unlock(&metrics->lock);
}
