// SPDX-License-Identifier: Apache-2.0
// metrics.c — plain counts under one lock; the text is made when it is asked for.
#include "server/metrics.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <pthread.h>

enum { MAX_BOUNDS = 24, N_CLASSES = 6, N_REASONS = 3 };

struct histogram {
    uint64_t bucket[MAX_BOUNDS + 1]; // not cumulative; the last holds what is over all bounds
    double sum;
    uint64_t n;
};

// Bucket bounds in seconds, 0 ends the list (OpenTelemetry's for generative models).
static const double first_bounds[] = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                                      1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 0};
static const double token_bounds[] = {.01, .025, .05, .075, .1,  .15, .2,
                                      .3,  .4,   .5,  .75,  1.0, 2.5, 0};
static const double whole_bounds[] = {.1, .25, .5,  1,   2.5, 5,    10,   20,
                                      40, 80,  160, 320, 640, 1280, 2560, 0};

struct glint_metrics {
    pthread_mutex_t lock;
    double opened_ms;
    uint64_t count[GLINT_COUNT_KINDS];
    uint64_t finished[N_REASONS];
    uint64_t responses[N_CLASSES]; // by hundreds of the status
    uint64_t n_prompt, n_cached, n_generated, n_reasoning;
    struct glint_draft_stats draft;
    uint64_t n_prefill_rows, n_decode_rows, n_decode_steps;
    double prefill_s, decode_s;
    uint64_t n_pictures, n_picture_rows;
    double picture_s;
    int n_running;
    struct glint_reuse_info reuse;
    struct histogram first, queue, token, whole;
};

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

static void observe(struct histogram *histogram, const double *bounds, double ms) {
    double seconds = ms / 1000;
    int i = 0;
    while (bounds[i] != 0 && seconds > bounds[i])
        i++;
    histogram->bucket[i]++;
    histogram->sum += seconds;
    histogram->n++;
}

void glint_metrics_request(struct glint_metrics *metrics, const struct glint_usage *usage,
                           enum glint_turn_reason reason) {
    pthread_mutex_lock(&metrics->lock);
    metrics->finished[reason]++;
    metrics->n_prompt += (uint64_t)usage->n_prompt;
    metrics->n_cached += (uint64_t)usage->n_cached;
    metrics->n_generated += (uint64_t)usage->n_generated;
    metrics->n_reasoning += (uint64_t)usage->n_reasoning;
    metrics->draft.n_round += usage->draft.n_round;
    metrics->draft.n_proposed += usage->draft.n_proposed;
    metrics->draft.n_accepted += usage->draft.n_accepted;
    observe(&metrics->queue, first_bounds, usage->queue_ms);
    if (usage->n_generated > 0)
        observe(&metrics->first, first_bounds, usage->queue_ms + usage->prefill_ms);
    if (usage->n_generated > 1)
        observe(&metrics->token, token_bounds, usage->decode_ms / (usage->n_generated - 1));
    observe(&metrics->whole, whole_bounds, usage->queue_ms + usage->prefill_ms + usage->decode_ms);
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
    metrics->responses[i >= 0 && i < N_CLASSES ? i : 0]++;
    pthread_mutex_unlock(&metrics->lock);
}

static void put_head(struct glint_buffer *out, const char *name, const char *type,
                     const char *help) {
    glint_buffer_printf(out, "# HELP glint_%s %s\n# TYPE glint_%s %s\n", name, help, name, type);
}

static void put_counter(struct glint_buffer *out, const char *name, const char *help,
                        uint64_t value) {
    put_head(out, name, "counter", help);
    glint_buffer_printf(out, "glint_%s %llu\n", name, (unsigned long long)value);
}

static void put_gauge(struct glint_buffer *out, const char *name, const char *help, double value) {
    put_head(out, name, "gauge", help);
    glint_buffer_printf(out, "glint_%s %.9g\n", name, value);
}

static void put_histogram(struct glint_buffer *out, const char *name, const char *help,
                          const struct histogram *histogram, const double *bounds) {
    uint64_t sum = 0;
    put_head(out, name, "histogram", help);
    for (int i = 0; bounds[i] != 0; i++) {
        sum += histogram->bucket[i];
        glint_buffer_printf(out, "glint_%s_bucket{le=\"%g\"} %llu\n", name, bounds[i],
                            (unsigned long long)sum);
    }
    glint_buffer_printf(out,
                        "glint_%s_bucket{le=\"+Inf\"} %llu\nglint_%s_sum %.9g\n"
                        "glint_%s_count %llu\n",
                        name, (unsigned long long)histogram->n, name, histogram->sum, name,
                        (unsigned long long)histogram->n);
}

// Counters of one name that differ in a label.
static void put_labelled(struct glint_buffer *out, const char *name, const char *label,
                         const char *const *words, const uint64_t *values, int n) {
    for (int i = 0; i < n; i++)
        glint_buffer_printf(out, "glint_%s{%s=\"%s\"} %llu\n", name, label, words[i],
                            (unsigned long long)values[i]);
}

static void put_requests(const struct glint_metrics *m, struct glint_buffer *out) {
    static const char *const phases[] = {"queue", "prefill", "decode", "picture"};
    static const char *const limits[] = {"body", "queue", "key", "host"};
    static const char *const classes[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
    put_head(out, "requests_finished_total", "counter", "Generations that ended, by reason.");
    for (int i = 0; i < N_REASONS; i++)
        glint_buffer_printf(out, "glint_requests_finished_total{reason=\"%s\"} %llu\n",
                            glint_turn_reason_name((enum glint_turn_reason)i),
                            (unsigned long long)m->finished[i]);
    put_head(out, "requests_cancelled_total", "counter",
             "Generations whose client left, by phase.");
    put_labelled(out, "requests_cancelled_total", "phase", phases,
                 &m->count[GLINT_COUNT_CANCELLED_QUEUED], 4);
    put_head(out, "requests_rejected_total", "counter", "Requests refused, by limit.");
    put_labelled(out, "requests_rejected_total", "limit", limits,
                 &m->count[GLINT_COUNT_REJECTED_BODY], 4);
    put_head(out, "http_responses_total", "counter", "Answers, by class of status.");
    put_labelled(out, "http_responses_total", "status", classes, m->responses + 1, 5);
    put_counter(out, "requests_failed_total", "Generations that failed.",
                m->count[GLINT_COUNT_FAILED]);
}

static void put_tokens(const struct glint_metrics *m, struct glint_buffer *out) {
    put_counter(out, "prompt_tokens_total", "Tokens of prompts.", m->n_prompt);
    put_counter(out, "cached_tokens_total", "Tokens of prompts that were in the cache already.",
                m->n_cached);
    put_counter(out, "generated_tokens_total", "Tokens generated.", m->n_generated);
    put_counter(out, "reasoning_tokens_total", "Tokens generated as reasoning.", m->n_reasoning);
    put_counter(out, "draft_rounds_total", "Steps that tried tokens ahead.",
                (uint64_t)m->draft.n_round);
    put_counter(out, "draft_proposed_tokens_total", "Tokens tried ahead.",
                (uint64_t)m->draft.n_proposed);
    put_counter(out, "draft_accepted_tokens_total", "Tokens tried ahead that came indeed.",
                (uint64_t)m->draft.n_accepted);
    put_counter(out, "prefill_rows_total", "Prompt tokens evaluated.", m->n_prefill_rows);
    put_counter(out, "decode_rows_total", "Generated tokens evaluated.", m->n_decode_rows);
    put_counter(out, "decode_steps_total", "Steps that evaluated them.", m->n_decode_steps);
    put_head(out, "prefill_seconds_total", "counter", "Time in prompt steps.");
    glint_buffer_printf(out, "glint_prefill_seconds_total %.9g\n", m->prefill_s);
    put_head(out, "decode_seconds_total", "counter", "Time in decode steps.");
    glint_buffer_printf(out, "glint_decode_seconds_total %.9g\n", m->decode_s);
    put_counter(out, "images_total", "Pictures and videos looked at.", m->n_pictures);
    put_counter(out, "image_tokens_total", "Their tokens.", m->n_picture_rows);
    put_counter(out, "image_cache_hits_total", "Pictures that were known already.",
                m->count[GLINT_COUNT_PICTURE_HITS]);
    put_head(out, "image_seconds_total", "counter", "Time in which they were looked at.");
    glint_buffer_printf(out, "glint_image_seconds_total %.9g\n", m->picture_s);
    put_counter(out, "cache_hits_total", "Prompts that began with something evaluated before.",
                m->count[GLINT_COUNT_REUSED]);
    put_gauge(out, "cache_checkpoints", "Places that requests can go on from.",
              m->reuse.n_checkpoint);
    put_gauge(out, "cache_checkpoint_bytes", "Memory that only these hold.",
              (double)m->reuse.bytes);
    put_counter(out, "cache_evictions_total", "Checkpoints given up for memory.",
                m->reuse.n_evicted);
    put_counter(out, "preemptions_total", "Running sequences that had to give way.",
                m->count[GLINT_COUNT_PREEMPTED]);
}

void glint_metrics_put(struct glint_metrics *metrics, int n_queued, struct glint_buffer *out) {
    pthread_mutex_lock(&metrics->lock);
    struct glint_metrics m = *metrics;
    pthread_mutex_unlock(&metrics->lock);
    put_head(out, "build_info", "gauge", "The program.");
    glint_buffer_printf(out, "glint_build_info{version=\"%s\"} 1\n", GLINT_VERSION);
    put_gauge(out, "uptime_seconds", "Since the server started.",
              (glint_clock_ms() - m.opened_ms) / 1000);
    put_gauge(out, "requests_running", "Sequences that are being generated.", m.n_running);
    put_gauge(out, "requests_waiting", "Requests that wait for their turn.", n_queued);
    put_requests(&m, out);
    put_tokens(&m, out);
    put_histogram(out, "queue_seconds", "Wait before the first step.", &m.queue, first_bounds);
    put_histogram(out, "time_to_first_token_seconds", "From arrival.", &m.first, first_bounds);
    put_histogram(out, "time_per_output_token_seconds", "After the first.", &m.token, token_bounds);
    put_histogram(out, "request_seconds", "From arrival to the end.", &m.whole, whole_bounds);
}
