// SPDX-License-Identifier: Apache-2.0
// quantize_run.c — decides every tensor's type first, so that a refusal comes before a byte is
// written; then streams: workers decode, check and encode shares of a chunk, one thread writes.
// What a value becomes does not depend on the number of threads or the size of a chunk.
#include "quantize_run.h"

#include "base/alloc.h"
#include "base/half.h"
#include "base/pool.h"
#include "format/gguf_write.h"
#include "format/mapped_file.h"
#include "format/output_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PIECE = 4096,         // most values a worker decodes at once: they stay in its cache
    CHUNK = 1 << 23,      // most values between two writes
    DROP_BYTES = 1 << 28, // of the input read between two hints that its pages may go
    MAX_WORKERS = 256,
};

// What happens to one tensor.
struct job {
    const struct glint_gguf_tensor *tensor;
    const struct glint_dtype_info *from, *to;
    const float *importance; // [n_col] or NULL
};

struct run {
    const struct glint_quantize *order;
    struct glint_gguf *input;
    struct glint_importance *importance;
    struct glint_gguf_writer *writer;
    struct glint_pool *pool;
    struct job *jobs;       // [input->n_tensors]
    float *values;          // [n_threads, PIECE]
    uint8_t *blocks;        // output of a chunk
    uint64_t done, dropped; // bytes of input read, and of those let go
    struct glint_quantize_report *report;
};

// ---- deciding ---------------------------------------------------------------------------------

static enum glint_status decide_type(const struct run *run, const char *architecture,
                                     uint32_t n_layer, struct job *job, bool used[],
                                     struct glint_error *err) {
    const struct glint_quantize *order = run->order;
    const struct glint_gguf_tensor *tensor = job->tensor;
    struct glint_quantize_tensor view = {architecture, tensor->name, tensor->n_dims, n_layer};
    job->from = glint_dtype_info(tensor->type_id);
    if (job->from == NULL)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: tensor %s: found type %s, expected one that glint can read",
                          order->input, tensor->name, glint_dtype_public_name(tensor->type_id));
    job->to = glint_dtype_info(GLINT_DTYPE_F32);
    if (tensor->n_dims > 1)
        job->to = job->from; // patch kernel, position table
    if (!glint_quantize_is_matrix(&view))
        return GLINT_OK;
    enum glint_dtype dtype = order->recipe.choose(&order->recipe, &view);
    for (int i = 0; i < order->n_rules; i++) {
        if (glint_quantize_matches(order->rules[i].pattern, tensor->name)) {
            dtype = order->rules[i].dtype;
            used[i] = true;
        }
    }
    job->to = glint_dtype_info((uint32_t)dtype);
    return GLINT_OK;
}

static enum glint_status check_job(const struct run *run, const struct job *job,
                                   struct glint_error *err) {
    const struct glint_quantize *order = run->order;
    const char *name = job->tensor->name;
    if (!job->from->is_float && job->from != job->to && !order->allow_requantize)
        return glint_fail(err, GLINT_E_ARG,
                          "%s: tensor %s: found type %s, expected a float type: quantizing twice "
                          "loses quality (--allow-requantize does it all the same)",
                          order->input, name, job->from->name);
    if (job->tensor->dims[0] % job->to->block_len != 0)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: tensor %s: found rows of %" PRIu64 ", expected a multiple of "
                          "%" PRIu32 " for %s (--tensor '%s=q8_0' chooses another type)",
                          order->input, name, job->tensor->dims[0], job->to->block_len,
                          job->to->name, name);
    return GLINT_OK;
}

// Attaches the importance of a matrix that is to be quantized.
static enum glint_status weigh_job(struct run *run, struct job *job, struct glint_error *err) {
    if (run->importance == NULL || job->to->is_float || job->from == job->to)
        return GLINT_OK;
    struct glint_quantize_report *report = run->report;
    GLINT_TRY(glint_importance_find(run->importance, job->tensor->name, job->tensor->dims[0],
                                    &job->importance, err));
    // The embedding is looked up, not multiplied: nothing measures its inputs.
    if (job->importance == NULL && strcmp(job->tensor->name, "token_embd.weight") != 0) {
        report->n_unweighted++;
        snprintf(report->an_unweighted, sizeof report->an_unweighted, "%s", job->tensor->name);
    }
    return GLINT_OK;
}

static enum glint_status decide(struct run *run, struct glint_error *err) {
    const struct glint_quantize *order = run->order;
    bool used[GLINT_QUANTIZE_MAX_RULES] = {false};
    char architecture[32], key[64];
    struct glint_view text;
    uint32_t n_layer = 0;
    GLINT_TRY(glint_gguf_get_string(run->input, "general.architecture", &text, err));
    snprintf(architecture, sizeof architecture, "%.*s", (int)(text.n < 31 ? text.n : 31),
             text.data);
    snprintf(key, sizeof key, "%s.block_count", architecture);
    GLINT_TRY(glint_gguf_opt_u32(run->input, key, &n_layer, err));
    run->jobs = glint_alloc(run->input->n_tensors, sizeof *run->jobs);
    if (run->jobs == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", order->input);
    for (size_t i = 0; i < run->input->n_tensors; i++) {
        struct job *job = &run->jobs[i];
        job->tensor = &run->input->tensors[i];
        GLINT_TRY(decide_type(run, architecture, n_layer, job, used, err));
        GLINT_TRY(check_job(run, job, err));
        GLINT_TRY(weigh_job(run, job, err));
        run->report->n_of_type[job->to->dtype]++;
    }
    for (int i = 0; i < order->n_rules; i++) {
        if (!used[i])
            return glint_fail(err, GLINT_E_ARG,
                              "%s: --tensor %s: found no weight matrix of that name, expected one",
                              order->input, order->rules[i].pattern);
    }
    return GLINT_OK;
}

// ---- header -----------------------------------------------------------------------------------

// Keys that describe the file itself, not the model.
static bool is_dropped(const struct run *run, const char *key) {
    static const char *const keys[] = {"general.alignment", "general.file_type",
                                       "general.quantization_version"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(key, keys[i]) == 0)
            return true;
    }
    return strncmp(key, "split.", 6) == 0 ||
           (run->importance != NULL && strncmp(key, "quantize.imatrix.", 17) == 0);
}

static enum glint_status write_header(struct run *run, struct glint_error *err) {
    const struct glint_gguf *input = run->input;
    GLINT_TRY(glint_gguf_writer_open(&run->writer, err));
    for (size_t i = 0; i < input->n_kvs; i++) {
        if (!is_dropped(run, input->kvs[i].key))
            glint_gguf_put_kv(run->writer, &input->kvs[i]);
    }
    glint_gguf_put_u32(run->writer, "general.quantization_version", 2);
    glint_gguf_put_u32(run->writer, "general.file_type", run->order->recipe.file_type);
    if (run->importance != NULL) {
        const char *slash = strrchr(run->order->imatrix_path, '/');
        glint_gguf_put_text(run->writer, "quantize.imatrix.file",
                            slash ? slash + 1 : run->order->imatrix_path);
        glint_gguf_put_u32(run->writer, "quantize.imatrix.entries_count",
                           (uint32_t)glint_importance_count(run->importance));
    }
    for (size_t i = 0; i < input->n_tensors; i++) {
        const struct job *job = &run->jobs[i];
        glint_gguf_add_tensor(run->writer, job->tensor->name, (uint32_t)job->to->dtype,
                              job->tensor->n_dims, job->tensor->dims);
    }
    GLINT_TRY(glint_gguf_writer_begin(run->writer, run->order->output, err));
    run->report->bytes_in = input->n_bytes;
    run->report->bytes_out = glint_gguf_writer_size(run->writer);
    return GLINT_OK;
}

// ---- data -------------------------------------------------------------------------------------

// Values [begin, end) of a tensor, shared among the workers.
struct chunk {
    const struct run *run;
    const struct job *job;
    uint64_t begin, end;
    uint64_t first_bad[MAX_WORKERS]; // place of the first value that is not finite, or UINT64_MAX
};

static uint64_t find_bad(const float *values, size_t n) {
    uint32_t worst = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = glint_float_bits(values[i]) & 0x7fffffffu;
        worst = bits > worst ? bits : worst;
    }
    for (size_t i = 0; worst >= 0x7f800000u; i++) {
        if ((glint_float_bits(values[i]) & 0x7fffffffu) >= 0x7f800000u)
            return i;
    }
    return UINT64_MAX;
}

static uint64_t bytes_of(const struct glint_dtype_info *info, uint64_t n) {
    return n / info->block_len * info->block_bytes;
}

// One run of values inside a row, aligned to the blocks of both types.
static uint64_t convert_piece(const struct chunk *chunk, float *values, uint64_t at, size_t n) {
    const struct job *job = chunk->job;
    const uint8_t *source = job->tensor->data + bytes_of(job->from, at);
    uint8_t *target = chunk->run->blocks + bytes_of(job->to, at - chunk->begin);
    job->from->decode(source, values, n);
    uint64_t bad = find_bad(values, n);
    if (bad != UINT64_MAX)
        return at + bad;
    const float *importance = job->importance;
    if (job->from == job->to)
        memcpy(target, source, bytes_of(job->to, n));
    else
        job->to->encode(values, importance ? importance + at % job->tensor->dims[0] : NULL, target,
                        n);
    return UINT64_MAX;
}

static void convert_share(void *context, int i_worker, int n_workers) {
    struct chunk *chunk = context;
    const struct job *job = chunk->job;
    float *values = chunk->run->values + (size_t)i_worker * PIECE;
    uint64_t n_col = job->tensor->dims[0];
    uint32_t unit =
        job->from->block_len > job->to->block_len ? job->from->block_len : job->to->block_len;
    struct glint_range share =
        glint_pool_range((int64_t)(chunk->end - chunk->begin), unit, i_worker, n_workers);
    uint64_t at = chunk->begin + (uint64_t)share.begin, end = chunk->begin + (uint64_t)share.end;
    chunk->first_bad[i_worker] = UINT64_MAX;
    while (at < end && chunk->first_bad[i_worker] == UINT64_MAX) {
        uint64_t n = n_col - at % n_col;
        n = n < end - at ? n : end - at;
        n = n < PIECE ? n : PIECE;
        chunk->first_bad[i_worker] = convert_piece(chunk, values, at, (size_t)n);
        at += n;
    }
}

static enum glint_status refuse_value(const struct run *run, const struct job *job, uint64_t at,
                                      struct glint_error *err) {
    uint64_t n_col = job->tensor->dims[0];
    uint64_t block = at / job->from->block_len * job->from->block_len;
    float values[256];
    job->from->decode(job->tensor->data + bytes_of(job->from, block), values, job->from->block_len);
    return glint_fail(err, GLINT_E_FORMAT,
                      "%s: tensor %s: value %" PRIu64 " (row %" PRIu64 ", column %" PRIu64
                      "): found %g, expected a finite number",
                      run->order->input, job->tensor->name, at, at / n_col, at % n_col,
                      (double)values[at - block]);
}

static bool report_progress(struct run *run, const struct job *job, uint64_t n_bytes) {
    const struct glint_quantize *order = run->order;
    run->done += n_bytes;
    if (run->done - run->dropped >= DROP_BYTES) {
        glint_gguf_advise(run->input, job->tensor, GLINT_ADVICE_UNUSED);
        run->dropped = run->done;
    }
    return order->progress == NULL ||
           order->progress(order->user, run->done, run->input->n_tensor_bytes);
}

static enum glint_status convert_tensor(struct run *run, const struct job *job,
                                        struct glint_error *err) {
    struct chunk chunk = {.run = run, .job = job};
    uint64_t n_values = job->tensor->n_values;
    glint_gguf_advise(run->input, job->tensor, GLINT_ADVICE_SEQUENTIAL);
    for (uint64_t at = 0; at < n_values; at += CHUNK) {
        chunk.begin = at;
        chunk.end = n_values - at < CHUNK ? n_values : at + CHUNK;
        glint_pool_run(run->pool, convert_share, &chunk);
        uint64_t bad = UINT64_MAX;
        for (int i = 0; i < run->order->n_threads; i++)
            bad = chunk.first_bad[i] < bad ? chunk.first_bad[i] : bad;
        if (bad != UINT64_MAX)
            return refuse_value(run, job, bad, err);
        uint64_t n = chunk.end - chunk.begin;
        GLINT_TRY(glint_gguf_writer_data(run->writer, run->blocks, bytes_of(job->to, n), err));
        if (!report_progress(run, job, bytes_of(job->from, n)))
            return glint_fail(err, GLINT_E_CANCELLED, "%s: stopped", run->order->output);
    }
    glint_gguf_advise(run->input, job->tensor, GLINT_ADVICE_UNUSED);
    return GLINT_OK;
}

// ---- whole ------------------------------------------------------------------------------------

static enum glint_status open_inputs(struct run *run, struct glint_error *err) {
    const struct glint_quantize *order = run->order;
    GLINT_TRY(glint_gguf_open(&run->input, order->input, err));
    for (size_t i = 0; i < run->input->n_shards; i++)
        GLINT_TRY(glint_output_file_refuse_input(order->output, run->input->shards[i].path, err));
    if (order->imatrix_path == NULL)
        return GLINT_OK;
    GLINT_TRY(glint_output_file_refuse_input(order->output, order->imatrix_path, err));
    return glint_importance_open(&run->importance, order->imatrix_path, err);
}

static enum glint_status take_memory(struct run *run, struct glint_error *err) {
    size_t n_threads = (size_t)run->order->n_threads;
    run->values = glint_alloc(n_threads * PIECE, sizeof *run->values);
    run->blocks = glint_alloc(CHUNK, sizeof(float)); // no type is larger than float32
    if (run->values == NULL || run->blocks == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", run->order->output);
    return glint_pool_open(&run->pool, run->order->n_threads, err);
}

static enum glint_status quantize_all(struct run *run, struct glint_error *err) {
    GLINT_TRY(open_inputs(run, err));
    GLINT_TRY(decide(run, err));
    GLINT_TRY(take_memory(run, err));
    GLINT_TRY(write_header(run, err));
    for (size_t i = 0; i < run->input->n_tensors; i++)
        GLINT_TRY(convert_tensor(run, &run->jobs[i], err));
    return glint_gguf_writer_commit(&run->writer, err);
}

enum glint_status glint_quantize_run(const struct glint_quantize *quantize,
                                     struct glint_quantize_report *report,
                                     struct glint_error *err) {
    GLINT_REQUIRE(quantize->n_threads >= 1 && quantize->n_threads <= MAX_WORKERS, err);
    struct run run = {.order = quantize, .report = report};
    memset(report, 0, sizeof *report);
    enum glint_status status = quantize_all(&run, err);
    glint_gguf_writer_discard(&run.writer);
    glint_pool_close(&run.pool);
    glint_free(run.blocks);
    glint_free(run.values);
    glint_free(run.jobs);
    glint_importance_close(&run.importance);
    glint_gguf_close(&run.input);
    return status;
}
