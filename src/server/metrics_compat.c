// SPDX-License-Identifier: Apache-2.0
// metrics_compat.c — vLLM's and llama.cpp's names, for boards and schedulers that know only those.
// Only numbers that mean the same; the bounds of the buckets are our own.
#include "server/metrics_state.h"

// model_name="...", escaped as label values are.
static void put_model(struct glint_buffer *out, const char *model) {
    glint_buffer_append_text(out, "model_name=\"");
    for (; *model; model++) {
        bool escaped = *model == '"' || *model == '\\' || *model == '\n';
        if (escaped)
            glint_buffer_append_char(out, '\\');
        glint_buffer_append_char(out, *model == '\n' ? 'n' : *model);
    }
    glint_buffer_append_char(out, '"');
}

static void put_vllm_counters(const struct glint_metrics *m,
                              const struct glint_metrics_page *page) {
    static const char *const reasons[] = {"stop", "length"};
    const uint64_t finished[] = {m->finished[GLINT_FINISH_STOP] +
                                     m->finished[GLINT_FINISH_TOOL_CALLS],
                                 m->finished[GLINT_FINISH_LENGTH]};
    glint_metrics_counter(page, "num_preemptions_total", "Sequences that had to give way.",
                          m->count[GLINT_COUNT_PREEMPTED]);
    glint_metrics_counter(page, "prompt_tokens_total", "Tokens of prompts.", m->n_prompt);
    glint_metrics_counter(page, "generation_tokens_total", "Tokens generated.", m->n_generated);
    glint_metrics_counter(page, "prefix_cache_queries_total", "Prompt tokens that were looked up.",
                          m->n_prompt);
    glint_metrics_counter(page, "prefix_cache_hits_total", "Prompt tokens that were found.",
                          m->n_cached);
    glint_metrics_counter(page, "spec_decode_num_drafts_total", "Steps that tried tokens ahead.",
                          (uint64_t)m->draft.n_round);
    glint_metrics_counter(page, "spec_decode_num_draft_tokens_total", "Tokens tried ahead.",
                          (uint64_t)m->draft.n_proposed);
    glint_metrics_counter(page, "spec_decode_num_accepted_tokens_total", "Those that came indeed.",
                          (uint64_t)m->draft.n_accepted);
    glint_metrics_head(page, "request_success_total", "counter", "Answers, by how they ended.");
    glint_metrics_labelled(page, "request_success_total", "finished_reason", reasons, finished, 2);
}

void glint_metrics_vllm(const struct glint_metrics *m, int n_queued, const char *model,
                        struct glint_buffer *out) {
    const struct {
        const char *name, *help;
        const struct glint_histogram *histogram;
        const double *bounds;
    } rows[] = {
        {"time_to_first_token_seconds", "From arrival.", &m->first, glint_first_bounds},
        {"inter_token_latency_seconds", "Between two steps.", &m->gap, glint_token_bounds},
        {"request_time_per_output_token_seconds", "Mean of a request.", &m->token,
         glint_token_bounds},
        {"e2e_request_latency_seconds", "From arrival to the end.", &m->whole, glint_whole_bounds},
        {"request_queue_time_seconds", "Waiting.", &m->queue, glint_first_bounds},
        {"request_prefill_time_seconds", "Prompt.", &m->prefill, glint_first_bounds},
        {"request_decode_time_seconds", "Answer.", &m->decode, glint_whole_bounds},
        {"request_inference_time_seconds", "Prompt and answer.", &m->inference, glint_whole_bounds},
        {"request_prompt_tokens", "Of a request.", &m->prompt, glint_count_bounds},
        {"request_generation_tokens", "Of a request.", &m->generated, glint_count_bounds},
    };
    struct glint_buffer labels = {.data = NULL};
    put_model(&labels, model);
    if (labels.failed) {
        out->failed = true;
        glint_buffer_fini(&labels);
        return;
    }
    const struct glint_metrics_page page = {out, "vllm:", labels.data};
    glint_metrics_gauge(&page, "num_requests_running", "Being generated.", m->n_running);
    glint_metrics_gauge(&page, "num_requests_waiting", "In the queue.", n_queued);
    put_vllm_counters(m, &page);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        glint_metrics_histogram(&page, rows[i].name, rows[i].help, rows[i].histogram,
                                rows[i].bounds);
    glint_buffer_fini(&labels);
}

static double ratio(double a, double b) {
    return b > 0 ? a / b : 0;
}

void glint_metrics_llamacpp(const struct glint_metrics *m, int n_queued, struct glint_buffer *out) {
    const struct glint_metrics_page page = {out, "llamacpp:", ""};
    glint_metrics_counter(&page, "prompt_tokens_total", "Prompt tokens evaluated.",
                          m->n_prefill_rows);
    glint_metrics_seconds(&page, "prompt_seconds_total", "Time for these.", m->prefill_s);
    glint_metrics_counter(&page, "tokens_predicted_total", "Tokens generated.", m->n_generated);
    glint_metrics_seconds(&page, "tokens_predicted_seconds_total", "Time for these.", m->decode_s);
    glint_metrics_counter(&page, "n_decode_total", "Steps that generate.", m->n_decode_steps);
    glint_metrics_counter(&page, "spec_decode_num_drafts_total", "Steps that tried tokens ahead.",
                          (uint64_t)m->draft.n_round);
    glint_metrics_counter(&page, "spec_decode_num_draft_tokens_total", "Tokens tried ahead.",
                          (uint64_t)m->draft.n_proposed);
    glint_metrics_counter(&page, "spec_decode_num_accepted_tokens_total", "Those that came indeed.",
                          (uint64_t)m->draft.n_accepted);
    glint_metrics_gauge(&page, "prompt_tokens_seconds", "Prompt tokens a second.",
                        ratio((double)m->n_prefill_rows, m->prefill_s));
    glint_metrics_gauge(&page, "predicted_tokens_seconds", "Generated tokens a second.",
                        ratio((double)m->n_generated, m->decode_s));
    glint_metrics_gauge(&page, "n_busy_slots_per_decode", "Sequences of a step, mean.",
                        ratio((double)m->n_decode_rows, (double)m->n_decode_steps));
    glint_metrics_gauge(&page, "requests_processing", "Being generated.", m->n_running);
    glint_metrics_gauge(&page, "requests_deferred", "In the queue.", n_queued);
}
