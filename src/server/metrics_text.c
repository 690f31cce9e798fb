// SPDX-License-Identifier: Apache-2.0
// metrics_text.c — the numbers in Prometheus' text form, under glint's own names.
#include "base/clock.h"
#include "server/metrics_state.h"

#include <stdio.h>

// {labels,more}; nothing when there are none.
static void put_name(const struct glint_metrics_page *page, const char *name, const char *end,
                     const char *more) {
    bool both = page->labels[0] && more[0], any = page->labels[0] || more[0];
    glint_buffer_printf(page->out, "%s%s%s%s%s%s%s%s ", page->prefix, name, end, any ? "{" : "",
                        page->labels, both ? "," : "", more, any ? "}" : "");
}

static void put_count(const struct glint_metrics_page *page, uint64_t value) {
    glint_buffer_printf(page->out, "%llu\n", (unsigned long long)value);
}

static void put_value(const struct glint_metrics_page *page, double value) {
    glint_buffer_printf(page->out, "%.9g\n", value);
}

void glint_metrics_head(const struct glint_metrics_page *page, const char *name, const char *type,
                        const char *help) {
    glint_buffer_printf(page->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", page->prefix, name, help,
                        page->prefix, name, type);
}

void glint_metrics_counter(const struct glint_metrics_page *page, const char *name,
                           const char *help, uint64_t value) {
    glint_metrics_head(page, name, "counter", help);
    put_name(page, name, "", "");
    put_count(page, value);
}

void glint_metrics_seconds(const struct glint_metrics_page *page, const char *name,
                           const char *help, double value) {
    glint_metrics_head(page, name, "counter", help);
    put_name(page, name, "", "");
    put_value(page, value);
}

void glint_metrics_gauge(const struct glint_metrics_page *page, const char *name, const char *help,
                         double value) {
    glint_metrics_head(page, name, "gauge", help);
    put_name(page, name, "", "");
    put_value(page, value);
}

void glint_metrics_histogram(const struct glint_metrics_page *page, const char *name,
                             const char *help, const struct glint_histogram *histogram,
                             const double *bounds) {
    uint64_t sum = 0;
    char label[40];
    glint_metrics_head(page, name, "histogram", help);
    for (int i = 0; bounds[i] != 0; i++) {
        sum += histogram->bucket[i];
        snprintf(label, sizeof label, "le=\"%g\"", bounds[i]);
        put_name(page, name, "_bucket", label);
        put_count(page, sum);
    }
    put_name(page, name, "_bucket", "le=\"+Inf\"");
    put_count(page, histogram->n);
    put_name(page, name, "_sum", "");
    put_value(page, histogram->sum);
    put_name(page, name, "_count", "");
    put_count(page, histogram->n);
}

void glint_metrics_labelled(const struct glint_metrics_page *page, const char *name,
                            const char *label, const char *const *words, const uint64_t *values,
                            int n) {
    char pair[80];
    for (int i = 0; i < n; i++) {
        snprintf(pair, sizeof pair, "%s=\"%s\"", label, words[i]);
        put_name(page, name, "", pair);
        put_count(page, values[i]);
    }
}

static void put_requests(const struct glint_metrics *m, const struct glint_metrics_page *page) {
    static const char *const phases[] = {"queue", "prefill", "decode", "picture"};
    static const char *const limits[] = {"body", "queue", "key", "host"};
    static const char *const classes[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
    glint_metrics_head(page, "requests_finished_total", "counter",
                       "Generations that ended, by reason.");
    for (int i = 0; i < GLINT_METRICS_REASONS; i++)
        glint_buffer_printf(page->out, "glint_requests_finished_total{reason=\"%s\"} %llu\n",
                            glint_turn_reason_name((enum glint_turn_reason)i),
                            (unsigned long long)m->finished[i]);
    glint_metrics_head(page, "requests_cancelled_total", "counter",
                       "Generations whose client left, by phase.");
    glint_metrics_labelled(page, "requests_cancelled_total", "phase", phases,
                           &m->count[GLINT_COUNT_CANCELLED_QUEUED], 4);
    glint_metrics_head(page, "requests_rejected_total", "counter", "Requests refused, by limit.");
    glint_metrics_labelled(page, "requests_rejected_total", "limit", limits,
                           &m->count[GLINT_COUNT_REJECTED_BODY], 4);
    glint_metrics_head(page, "http_responses_total", "counter", "Answers, by class of status.");
    glint_metrics_labelled(page, "http_responses_total", "status", classes, m->responses + 1, 5);
    glint_metrics_counter(page, "requests_failed_total", "Generations that failed.",
                          m->count[GLINT_COUNT_FAILED]);
}

static void put_tokens(const struct glint_metrics *m, const struct glint_metrics_page *page) {
    glint_metrics_counter(page, "prompt_tokens_total", "Tokens of prompts.", m->n_prompt);
    glint_metrics_counter(page, "cached_tokens_total",
                          "Tokens of prompts that were in the cache already.", m->n_cached);
    glint_metrics_counter(page, "generated_tokens_total", "Tokens generated.", m->n_generated);
    glint_metrics_counter(page, "reasoning_tokens_total", "Tokens generated as reasoning.",
                          m->n_reasoning);
    glint_metrics_counter(page, "draft_rounds_total", "Steps that tried tokens ahead.",
                          (uint64_t)m->draft.n_round);
    glint_metrics_counter(page, "draft_proposed_tokens_total", "Tokens tried ahead.",
                          (uint64_t)m->draft.n_proposed);
    glint_metrics_counter(page, "draft_accepted_tokens_total",
                          "Tokens tried ahead that came indeed.", (uint64_t)m->draft.n_accepted);
    glint_metrics_counter(page, "prefill_rows_total", "Prompt tokens evaluated.",
                          m->n_prefill_rows);
    glint_metrics_counter(page, "decode_rows_total", "Generated tokens evaluated.",
                          m->n_decode_rows);
    glint_metrics_counter(page, "decode_steps_total", "Steps that evaluated them.",
                          m->n_decode_steps);
    glint_metrics_seconds(page, "prefill_seconds_total", "Time in prompt steps.", m->prefill_s);
    glint_metrics_seconds(page, "decode_seconds_total", "Time in decode steps.", m->decode_s);
    glint_metrics_counter(page, "images_total", "Pictures and videos looked at.", m->n_pictures);
    glint_metrics_counter(page, "image_tokens_total", "Their tokens.", m->n_picture_rows);
    glint_metrics_counter(page, "image_cache_hits_total", "Pictures that were known already.",
                          m->count[GLINT_COUNT_PICTURE_HITS]);
    glint_metrics_seconds(page, "image_seconds_total", "Time in which they were looked at.",
                          m->picture_s);
    glint_metrics_counter(page, "cache_hits_total",
                          "Prompts that began with something evaluated before.",
                          m->count[GLINT_COUNT_REUSED]);
    glint_metrics_gauge(page, "cache_checkpoints", "Places that requests can go on from.",
                        m->reuse.n_checkpoint);
    glint_metrics_gauge(page, "cache_checkpoint_bytes", "Memory that only these hold.",
                        (double)m->reuse.bytes);
    glint_metrics_counter(page, "cache_evictions_total", "Checkpoints given up for memory.",
                          m->reuse.n_evicted);
    glint_metrics_counter(page, "preemptions_total", "Running sequences that had to give way.",
                          m->count[GLINT_COUNT_PREEMPTED]);
}

static void put_histograms(const struct glint_metrics *m, const struct glint_metrics_page *page) {
    glint_metrics_histogram(page, "queue_seconds", "Wait before the first step.", &m->queue,
                            glint_first_bounds);
    glint_metrics_histogram(page, "prefill_seconds", "From the first step to the first token.",
                            &m->prefill, glint_first_bounds);
    glint_metrics_histogram(page, "decode_seconds", "From the first token to the last.", &m->decode,
                            glint_whole_bounds);
    glint_metrics_histogram(page, "time_to_first_token_seconds", "From arrival.", &m->first,
                            glint_first_bounds);
    glint_metrics_histogram(page, "inter_token_seconds",
                            "Between two steps that bring a sequence tokens.", &m->gap,
                            glint_token_bounds);
    glint_metrics_histogram(page, "time_per_output_token_seconds",
                            "After the first, mean of a request.", &m->token, glint_token_bounds);
    glint_metrics_histogram(page, "request_seconds", "From arrival to the end.", &m->whole,
                            glint_whole_bounds);
    glint_metrics_histogram(page, "request_prompt_tokens", "Tokens of a request's prompt.",
                            &m->prompt, glint_count_bounds);
    glint_metrics_histogram(page, "request_generated_tokens", "Tokens of an answer.", &m->generated,
                            glint_count_bounds);
}

void glint_metrics_put(struct glint_metrics *metrics, const struct glint_metrics_asked *asked,
                       struct glint_buffer *out) {
    const struct glint_metrics_page own = {out, "glint_", ""}, *page = &own;
    pthread_mutex_lock(&metrics->lock);
    struct glint_metrics m = *metrics;
    pthread_mutex_unlock(&metrics->lock);
    glint_metrics_head(page, "build_info", "gauge", "The program.");
    glint_buffer_printf(out, "glint_build_info{version=\"%s\"} 1\n", GLINT_VERSION);
    glint_metrics_gauge(page, "uptime_seconds", "Since the server started.",
                        (glint_clock_ms() - m.opened_ms) / 1000);
    glint_metrics_gauge(page, "requests_running", "Sequences that are being generated.",
                        m.n_running);
    glint_metrics_gauge(page, "requests_waiting", "Requests that wait for their turn.",
                        asked->n_queued);
    put_requests(&m, page);
    put_tokens(&m, page);
    put_histograms(&m, page);
    if (asked->vllm)
        glint_metrics_vllm(&m, asked->n_queued, asked->model, out);
    if (asked->llamacpp)
        glint_metrics_llamacpp(&m, asked->n_queued, out);
}
