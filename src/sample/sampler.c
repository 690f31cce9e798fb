// SPDX-License-Identifier: Apache-2.0
// sampler.c — options and state of a sequence's sampler, and the steps of one draw.
// The kept tokens of steps 5 to 7 are described by the key of the last one, so the draw needs no
// list of them: one more pass over the few blocks that reach that key.
#include "sample/sampler.h"

#include "base/alloc.h"
#include "sample/logit_row.h"
#include "sample/penalty_window.h"
#include "sample/select.h"

#include <math.h>
#include <string.h>

enum { MAX_LAST_N = 1 << 24 };

struct glint_sampler {
    struct glint_sampler_options options; // bias and n_bias: ours, ascending, each id once
    int32_t n_vocab;
    struct glint_logit_bias *bias; // owned
    struct glint_penalty_window window;
    uint64_t n_accepted;
};

struct patch { // a logit as it was
    int32_t id;
    float logit;
};

struct glint_sampler_scratch {
    int32_t n_vocab;
    float *block_max;      // [blocks]
    double *block_sum;     // [blocks]
    uint64_t *keys;        // [n_vocab]
    struct patch *patches; // [n_vocab]
    size_t n_patches;
    struct glint_logprob top[GLINT_SAMPLER_MAX_TOP];
};

struct glint_sampler_options glint_sampler_defaults(void) {
    return (struct glint_sampler_options){
        .temperature = 1.0f,
        .top_k = 64,
        .top_p = 0.95f,
        .repeat_penalty = 1.0f,
        .repeat_last_n = 64,
    };
}

enum glint_status glint_sampler_scratch_open(struct glint_sampler_scratch **scratch,
                                             int32_t n_vocab, struct glint_error *err) {
    *scratch = NULL;
    GLINT_REQUIRE(n_vocab > 0, err);
    struct glint_sampler_scratch *s = glint_alloc(1, sizeof *s);
    size_t n_blocks = ((size_t)n_vocab + GLINT_ROW_BLOCK - 1) / GLINT_ROW_BLOCK;
    if (s) {
        s->n_vocab = n_vocab;
        s->block_max = glint_alloc(n_blocks, sizeof *s->block_max);
        s->block_sum = glint_alloc(n_blocks, sizeof *s->block_sum);
        s->keys = glint_alloc((size_t)n_vocab, sizeof *s->keys);
        s->patches = glint_alloc((size_t)n_vocab, sizeof *s->patches);
    }
    *scratch = s;
    if (s && s->block_max && s->block_sum && s->keys && s->patches)
        return GLINT_OK;
    glint_sampler_scratch_close(scratch);
    return glint_fail(err, GLINT_E_NOMEM, "sampler: no memory for a vocabulary of %d", n_vocab);
}

void glint_sampler_scratch_close(struct glint_sampler_scratch **scratch) {
    if (!*scratch)
        return;
    glint_free((*scratch)->block_max);
    glint_free((*scratch)->block_sum);
    glint_free((*scratch)->keys);
    glint_free((*scratch)->patches);
    glint_free(*scratch);
    *scratch = NULL;
}

static enum glint_status check_number(const char *name, float value, float low, float high,
                                      struct glint_error *err) {
    if (value >= low && value <= high) // false for NaN
        return GLINT_OK;
    return glint_fail(err, GLINT_E_ARG, "%s: found %g, expected %g to %g", name, (double)value,
                      (double)low, (double)high);
}

static enum glint_status check_count(const char *name, int32_t value, int32_t high,
                                     struct glint_error *err) {
    if (value >= 0 && value <= high)
        return GLINT_OK;
    return glint_fail(err, GLINT_E_ARG, "%s: found %d, expected 0 to %d", name, value, high);
}

static enum glint_status check_options(const struct glint_sampler_options *options, int32_t n_vocab,
                                       struct glint_error *err) {
    GLINT_TRY(check_number("temperature", options->temperature, 0, 1e6f, err));
    GLINT_TRY(check_count("top_k", options->top_k, INT32_MAX, err));
    GLINT_TRY(check_number("top_p", options->top_p, 0, 1, err));
    GLINT_TRY(check_number("min_p", options->min_p, 0, 1, err));
    GLINT_TRY(check_number("repeat_penalty", options->repeat_penalty, 1e-3f, 1e3f, err));
    GLINT_TRY(check_number("presence_penalty", options->presence_penalty, -1e3f, 1e3f, err));
    GLINT_TRY(check_number("frequency_penalty", options->frequency_penalty, -1e3f, 1e3f, err));
    GLINT_TRY(check_count("repeat_last_n", options->repeat_last_n, MAX_LAST_N, err));
    GLINT_TRY(check_count("logprobs", options->n_logprobs, GLINT_SAMPLER_MAX_TOP, err));
    for (size_t i = 0; i < options->n_bias; i++) {
        int32_t id = options->bias[i].id;
        if (id < 0 || id >= n_vocab)
            return glint_fail(err, GLINT_E_ARG, "logit_bias: found token %d, expected 0 to %d", id,
                              n_vocab - 1);
        if (!(options->bias[i].bias <= 1e6f))
            return glint_fail(err, GLINT_E_ARG,
                              "logit_bias of token %d: found %g, expected -inf or up to 1e6", id,
                              (double)options->bias[i].bias);
    }
    return GLINT_OK;
}

static bool has_penalties(const struct glint_sampler_options *options) {
    return options->repeat_penalty != 1.0f || options->presence_penalty != 0.0f ||
           options->frequency_penalty != 0.0f;
}

// Sorted by id, the values of a repeated id added up.
static enum glint_status copy_bias(struct glint_sampler *sampler,
                                   const struct glint_sampler_options *options,
                                   struct glint_error *err) {
    sampler->options.bias = NULL;
    sampler->options.n_bias = 0;
    if (options->n_bias == 0)
        return GLINT_OK;
    if (options->n_bias > UINT32_MAX)
        return glint_fail(err, GLINT_E_LIMIT, "logit_bias: %zu entries, expected less than 2^32",
                          options->n_bias);
    uint64_t *order = glint_alloc(options->n_bias, sizeof *order);
    sampler->bias = glint_alloc(options->n_bias, sizeof *sampler->bias);
    if (!order || !sampler->bias) {
        glint_free(order);
        return glint_fail(err, GLINT_E_NOMEM, "logit_bias: no memory for %zu entries",
                          options->n_bias);
    }
    for (size_t i = 0; i < options->n_bias; i++)
        order[i] = (uint64_t)(uint32_t)options->bias[i].id << 32 | i;
    glint_select_sort(order, options->n_bias);
    size_t n = 0;
    for (size_t i = 0; i < options->n_bias; i++) {
        struct glint_logit_bias entry = options->bias[(uint32_t)order[i]];
        if (n > 0 && sampler->bias[n - 1].id == entry.id)
            sampler->bias[n - 1].bias += entry.bias;
        else
            sampler->bias[n++] = entry;
    }
    glint_free(order);
    sampler->options.bias = sampler->bias;
    sampler->options.n_bias = n;
    return GLINT_OK;
}

enum glint_status glint_sampler_open(struct glint_sampler **sampler,
                                     const struct glint_sampler_options *options, int32_t n_vocab,
                                     struct glint_error *err) {
    *sampler = NULL;
    GLINT_REQUIRE(n_vocab > 0, err);
    GLINT_TRY(check_options(options, n_vocab, err));
    struct glint_sampler *s = glint_alloc(1, sizeof *s);
    if (!s)
        return glint_fail(err, GLINT_E_NOMEM, "sampler: no memory");
    s->options = *options;
    s->n_vocab = n_vocab;
    enum glint_status status = copy_bias(s, options, err);
    if (status == GLINT_OK && has_penalties(options))
        status = glint_penalty_window_init(&s->window, (uint32_t)options->repeat_last_n,
                                           GLINT_SAMPLER_MAX_REWIND, err);
    *sampler = s;
    if (status != GLINT_OK)
        glint_sampler_close(sampler);
    return status;
}

void glint_sampler_close(struct glint_sampler **sampler) {
    if (!*sampler)
        return;
    glint_penalty_window_fini(&(*sampler)->window);
    glint_free((*sampler)->bias);
    glint_free(*sampler);
    *sampler = NULL;
}

void glint_sampler_forget(struct glint_sampler *sampler) {
    glint_penalty_window_reset(&sampler->window);
}

void glint_sampler_prompt(struct glint_sampler *sampler, const int32_t *ids, size_t n) {
    size_t n_last = sampler->window.n_last;
    // Older tokens would only pass through the window.
    for (size_t i = n > n_last ? n - n_last : 0; i < n; i++)
        glint_penalty_window_push(&sampler->window, ids[i]);
}

void glint_sampler_accept(struct glint_sampler *sampler, int32_t id) {
    glint_penalty_window_push(&sampler->window, id);
    sampler->n_accepted++;
}

void glint_sampler_rewind(struct glint_sampler *sampler, size_t n) {
    GLINT_ASSERT(n <= GLINT_SAMPLER_MAX_REWIND && n <= sampler->n_accepted);
    for (size_t i = 0; i < n; i++)
        glint_penalty_window_pop(&sampler->window);
    sampler->n_accepted -= n;
}

uint64_t glint_sampler_n_accepted(const struct glint_sampler *sampler) {
    return sampler->n_accepted;
}

static void patch_logit(struct glint_sampler_scratch *scratch, float *logits, int32_t id,
                        float value) {
    scratch->patches[scratch->n_patches++] = (struct patch){id, logits[id]};
    logits[id] = value;
}

static float penalized(const struct glint_sampler_options *options, float logit, uint32_t n) {
    logit = logit > 0 ? logit / options->repeat_penalty : logit * options->repeat_penalty;
    return logit - (float)n * options->frequency_penalty - options->presence_penalty;
}

static const struct glint_logit_bias *find_bias(const struct glint_sampler *sampler, int32_t id) {
    size_t low = 0, high = sampler->options.n_bias;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sampler->bias[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sampler->options.n_bias && sampler->bias[low].id == id ? &sampler->bias[low]
                                                                        : NULL;
}

// Steps 1 and 2. An id with a bias and a penalty is saved once, before both.
static void patch_row(const struct glint_sampler *sampler, struct glint_sampler_scratch *scratch,
                      float *logits) {
    const struct glint_penalty_window *window = &sampler->window;
    scratch->n_patches = 0;
    for (size_t i = 0; i < sampler->options.n_bias; i++)
        patch_logit(scratch, logits, sampler->bias[i].id,
                    logits[sampler->bias[i].id] + sampler->bias[i].bias);
    for (uint32_t i = 0; window->n_last > 0 && i <= window->slot_mask; i++) {
        struct glint_token_count count = window->slots[i];
        if (count.n == 0 || count.id < 0 || count.id >= sampler->n_vocab)
            continue;
        float value = penalized(&sampler->options, logits[count.id], count.n);
        if (find_bias(sampler, count.id))
            logits[count.id] = value; // its old value is saved already
        else
            patch_logit(scratch, logits, count.id, value);
    }
}

static void restore_row(const struct glint_sampler_scratch *scratch, float *logits) {
    for (size_t i = 0; i < scratch->n_patches; i++)
        logits[scratch->patches[i].id] = scratch->patches[i].logit;
}

// Step 5: how many keys lie in front of scratch->keys, sorted. Every block's maximum is a
// logit, so the k-th largest of them is a floor under the k-th largest logit.
static size_t keep_top_k(const struct glint_logit_row *row, struct glint_sampler_scratch *scratch,
                         size_t k) {
    float floor = -INFINITY;
    if (k <= (size_t)row->n_blocks) {
        for (int32_t i = 0; i < row->n_blocks; i++)
            scratch->keys[i] = glint_key_of(row->block_max[i], i);
        glint_select_front(scratch->keys, (size_t)row->n_blocks, k);
        uint64_t worst = 0;
        for (size_t i = 0; i < k; i++)
            worst = scratch->keys[i] > worst ? scratch->keys[i] : worst;
        floor = glint_key_logit(worst);
    }
    size_t n = glint_logit_row_gather(row, floor, scratch->keys);
    if (k > n)
        k = n;
    glint_select_front(scratch->keys, n, k);
    glint_select_sort(scratch->keys, k);
    return k;
}

// Shortest prefix of n sorted keys whose weights reach `wanted`, or 0 when all do not.
static size_t reach(const struct glint_logit_row *row, const uint64_t *keys, size_t n,
                    double wanted) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += exp((double)glint_key_logit(keys[i]) - (double)row->max);
        if (sum >= wanted)
            return i + 1;
    }
    return 0;
}

// Step 6 after a top-k: keys [n] sorted.
static size_t keep_top_p(const struct glint_logit_row *row, const uint64_t *keys, size_t n,
                         float top_p) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += exp((double)glint_key_logit(keys[i]) - (double)row->max);
    size_t n_kept = reach(row, keys, n, (double)top_p * sum);
    return n_kept ? n_kept : n;
}

// Step 6 without a top-k: sums by distance from the maximum tell where the prefix ends, and only
// the tokens around there are sorted.
static uint64_t keep_top_p_of_all(const struct glint_logit_row *row,
                                  struct glint_sampler_scratch *scratch, float top_p) {
    double sums[GLINT_ROW_BINS], sum = 0;
    glint_logit_row_bin_sums(row, sums);
    for (int i = 0; i < GLINT_ROW_BINS; i++)
        sum += sums[i];
    double wanted = (double)top_p * sum;
    int bin = 0, last = GLINT_ROW_BINS - 1;
    while (last > 0 && sums[last] == 0)
        last--;
    for (; bin < last && sums[bin] < wanted; bin++)
        wanted -= sums[bin];
    size_t n = glint_logit_row_gather_bin(row, bin, scratch->keys);
    glint_select_sort(scratch->keys, n);
    size_t n_kept = reach(row, scratch->keys, n, wanted);
    return scratch->keys[(n_kept ? n_kept : n) - 1];
}

// Steps 5 to 7: key of the last token that is kept.
static uint64_t last_kept(const struct glint_sampler_options *options,
                          const struct glint_logit_row *row,
                          struct glint_sampler_scratch *scratch) {
    uint64_t last = glint_key_worst();
    if (options->top_k > 0 && options->top_k < row->n) {
        size_t n = keep_top_k(row, scratch, (size_t)options->top_k);
        if (options->top_p < 1)
            n = keep_top_p(row, scratch->keys, n, options->top_p);
        last = scratch->keys[n - 1];
    } else if (options->top_p < 1) {
        last = keep_top_p_of_all(row, scratch, options->top_p);
    }
    if (options->min_p > 0) {
        uint64_t floor = glint_key_of(row->max + logf(options->min_p), INT32_MAX);
        last = floor < last ? floor : last;
    }
    return last;
}

// Number i of the seed's sequence, uniform in [0, 1) with 53 bits.
static double uniform_at(uint64_t seed, uint64_t i) {
    uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-53;
}

// Steps 3 to 8 on the patched row.
static enum glint_status draw(const struct glint_sampler *sampler,
                              struct glint_sampler_scratch *scratch, struct glint_logit_row *row,
                              int32_t *id, struct glint_error *err) {
    const struct glint_sampler_options *options = &sampler->options;
    GLINT_TRY(glint_logit_row_scan(row, err));
    if (options->temperature == 0) {
        *id = glint_logit_row_best(row);
        return GLINT_OK;
    }
    struct glint_row_weights weights = {.temperature = options->temperature,
                                        .block_sum = scratch->block_sum};
    weights.last = last_kept(options, row, scratch);
    glint_logit_row_weigh(row, &weights);
    *id = glint_logit_row_draw(row, &weights, uniform_at(options->seed, sampler->n_accepted));
    return GLINT_OK;
}

// Log-probabilities of the raw row; *log_sum: the logarithm of its softmax's denominator.
static enum glint_status report_top(const struct glint_sampler *sampler,
                                    struct glint_sampler_scratch *scratch,
                                    struct glint_logit_row *row, struct glint_sample *sample,
                                    double *log_sum, struct glint_error *err) {
    GLINT_TRY(glint_logit_row_scan(row, err));
    struct glint_row_weights weights = {glint_key_worst(), 1.0f, scratch->block_sum, 0};
    glint_logit_row_weigh(row, &weights);
    *log_sum = (double)row->max + log(weights.sum);
    size_t n = (size_t)sampler->options.n_logprobs;
    if (n > 0)
        n = keep_top_k(row, scratch, n);
    for (size_t i = 0; i < n; i++) {
        double logit = (double)glint_key_logit(scratch->keys[i]);
        scratch->top[i].id = glint_key_id(scratch->keys[i]);
        scratch->top[i].logprob = (float)(logit - *log_sum);
    }
    sample->top = scratch->top;
    sample->n_top = (int32_t)n;
    return GLINT_OK;
}

enum glint_status glint_sampler_sample(const struct glint_sampler *sampler,
                                       struct glint_sampler_scratch *scratch, float *logits,
                                       const uint32_t *allowed, struct glint_sample *sample,
                                       struct glint_error *err) {
    GLINT_REQUIRE(scratch->n_vocab == sampler->n_vocab, err);
    struct glint_logit_row row = {
        .logits = logits, .n = sampler->n_vocab, .block_max = scratch->block_max};
    double log_sum = 0;
    bool logprobs = sampler->options.logprobs || sampler->options.n_logprobs > 0;
    memset(sample, 0, sizeof *sample);
    sample->id = -1;
    if (logprobs)
        GLINT_TRY(report_top(sampler, scratch, &row, sample, &log_sum, err));
    row.allowed = allowed;
    patch_row(sampler, scratch, logits);
    enum glint_status status = draw(sampler, scratch, &row, &sample->id, err);
    restore_row(scratch, logits);
    if (status == GLINT_OK && logprobs)
        sample->logprob = (float)((double)logits[sample->id] - log_sum);
    return status;
}
