// SPDX-License-Identifier: Apache-2.0
// cmd_imatrix.c — `glint imatrix`: runs a text through a model and writes, for each weight
// matrix, the sums of squares of its inputs, which `glint quantize --imatrix` weighs errors by.
// The file is the one that llama.cpp writes (quantize_importance.h).
#include "cmd.h"
#include "engine_args.h"
#include "format/gguf_write.h"
#include "format/output_file.h"
#include "interrupt.h"
#include "options.h"
#include "progress.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_FILE = 1, OPT_OUT, OPT_WINDOW };

static const struct glint_option options[] = {
    {OPT_FILE, {"f", "file"}, "FILE", "text like what the model will be used on; - is stdin"},
    {OPT_OUT, {"o", "output"}, "OUT.gguf", "file to write"},
    {OPT_WINDOW, {"window"}, "N", "tokens that are read together (default: 512)"},
    GLINT_ENGINE_OPTIONS,
    {0},
};

static const struct glint_command command = {
    "imatrix",
    "[-m MODEL] -f FILE -o OUT.gguf",
    "Measures which inputs of each weight matrix matter, for glint quantize --imatrix.",
    options,
};

// One matrix: sums over all rows that it was multiplied with.
struct entry {
    const char *tensor; // the engine's copy: one pointer a name
    int n_col;
    uint64_t n_rows;
    double *sums; // [n_col], owned
};

struct collection {
    struct entry *entries; // [n], room for `room`, owned
    size_t n, room;
    struct entry *last; // rows of one matrix come one after another
    bool failed;        // out of memory
};

static struct entry *add_entry(struct collection *all, const char *tensor, int n_col) {
    if (all->n == all->room) {
        size_t room = 2 * all->room + 64;
        struct entry *entries = glint_realloc(all->entries, room, sizeof *entries);
        if (entries == NULL)
            return NULL;
        all->entries = entries;
        all->room = room;
    }
    double *sums = glint_alloc((size_t)n_col, sizeof *sums);
    if (sums == NULL)
        return NULL;
    all->entries[all->n] = (struct entry){tensor, n_col, 0, sums};
    return &all->entries[all->n++];
}

static struct entry *entry_of(struct collection *all, const char *tensor, int n_col) {
    if (all->last != NULL && all->last->tensor == tensor)
        return all->last;
    for (size_t i = 0; i < all->n; i++) {
        if (all->entries[i].tensor == tensor)
            return &all->entries[i];
    }
    return add_entry(all, tensor, n_col);
}

static void on_product(void *user, const char *tensor, const float *x, int n_col) {
    struct collection *all = user;
    struct entry *entry = all->failed ? NULL : entry_of(all, tensor, n_col);
    all->last = entry;
    all->failed = entry == NULL;
    if (entry == NULL)
        return;
    entry->n_rows++;
    for (int i = 0; i < n_col; i++)
        entry->sums[i] += (double)x[i] * (double)x[i];
}

// The last layer computes only rows whose logits somebody wants: all of them here.
static void on_logits(void *user, int position, const float *logits) {
    (void)user;
    (void)position;
    (void)logits;
}

struct request {
    const char *file, *out;
    int64_t window;
    bool quiet;
};

// Every window of ids: BOS where the model has one, then the text. The last may be short.
static enum glint_status collect(struct glint_engine *engine, const struct glint_ids *ids,
                                 const struct request *request, struct collection *all,
                                 struct glint_error *err) {
    struct glint_session *session = NULL;
    int32_t bos = glint_special_id(engine, "<|begin_of_text|>");
    size_t lead = bos >= 0 ? 1 : 0, body = (size_t)request->window - lead;
    int32_t *buffer = glint_alloc((size_t)request->window, sizeof *buffer);
    if (buffer == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "window: out of memory");
    enum glint_status status = glint_session_open(&session, engine, err);
    struct glint_progress progress;
    glint_progress_begin(&progress, "measuring", ids->n, request->quiet);
    progress.tokens = true;
    for (size_t at = 0; status == GLINT_OK && at < ids->n; at += body) {
        size_t n = ids->n - at < body ? ids->n - at : body;
        buffer[0] = bos;
        memcpy(buffer + lead, ids->data + at, n * sizeof *buffer);
        struct glint_eval eval = {.ids = buffer,
                                  .n = (int)(lead + n),
                                  .n_logits = (int)(lead + n),
                                  .on_logits = on_logits,
                                  .on_product = on_product,
                                  .user = all};
        status = glint_session_truncate(session, 0, err);
        if (status == GLINT_OK)
            status = glint_session_eval(session, &eval, err);
        if (status == GLINT_OK && all->failed)
            status = glint_fail(err, GLINT_E_NOMEM, "sums: out of memory");
        if (status == GLINT_OK && glint_interrupt_seen())
            status = glint_fail(err, GLINT_E_CANCELLED, "stopped");
        glint_progress_step(&progress, at + n);
    }
    glint_progress_end(&progress, status == GLINT_OK);
    glint_session_close(&session);
    glint_free(buffer);
    return status;
}

static void declare(struct glint_gguf_writer *writer, const struct collection *all) {
    char name[128];
    uint64_t one = 1;
    for (size_t i = 0; i < all->n; i++) {
        uint64_t n_col = (uint64_t)all->entries[i].n_col;
        snprintf(name, sizeof name, "%s.in_sum2", all->entries[i].tensor);
        glint_gguf_add_tensor(writer, name, 0, 1, &n_col);
        snprintf(name, sizeof name, "%s.counts", all->entries[i].tensor);
        glint_gguf_add_tensor(writer, name, 0, 1, &one);
    }
}

static enum glint_status write_entry(struct glint_gguf_writer *writer, const struct entry *entry,
                                     struct glint_error *err) {
    float count = (float)entry->n_rows;
    for (int i = 0; i < entry->n_col; i++) {
        float sum = (float)entry->sums[i];
        GLINT_TRY(glint_gguf_writer_data(writer, &sum, sizeof sum, err));
    }
    return glint_gguf_writer_data(writer, &count, sizeof count, err);
}

static enum glint_status write_file(struct glint_gguf_writer *writer, const struct request *request,
                                    size_t n_ids, const struct collection *all,
                                    struct glint_error *err) {
    size_t n_windows = (n_ids + (size_t)request->window - 1) / (size_t)request->window;
    glint_gguf_put_text(writer, "general.type", "imatrix");
    glint_gguf_put_strings(writer, "imatrix.datasets", 1);
    glint_gguf_put_item(writer, glint_view_of(request->file));
    glint_gguf_put_u32(writer, "imatrix.chunk_count", (uint32_t)n_windows);
    glint_gguf_put_u32(writer, "imatrix.chunk_size", (uint32_t)request->window);
    declare(writer, all);
    GLINT_TRY(glint_gguf_writer_begin(writer, request->out, err));
    for (size_t i = 0; i < all->n; i++)
        GLINT_TRY(write_entry(writer, &all->entries[i], err));
    return GLINT_OK;
}

static enum glint_status measure(struct glint_engine *engine, const struct glint_text *text,
                                 const struct request *request, struct glint_error *err) {
    struct glint_ids ids = {NULL, 0};
    struct collection all = {.n = 0};
    struct glint_gguf_writer *writer = NULL;
    enum glint_status status = glint_tokenize(engine, text, &ids, err);
    if (status == GLINT_OK && ids.n == 0)
        status = glint_fail(err, GLINT_E_ARG, "%s: found no text, expected some", request->file);
    if (status == GLINT_OK)
        status = collect(engine, &ids, request, &all, err);
    if (status == GLINT_OK)
        status = glint_gguf_writer_open(&writer, err);
    if (status == GLINT_OK)
        status = write_file(writer, request, ids.n, &all, err);
    if (status == GLINT_OK)
        status = glint_gguf_writer_commit(&writer, err);
    if (status == GLINT_OK && !request->quiet)
        fprintf(stderr, "%s: %zu matrices measured on %zu tokens\n", request->out, all.n, ids.n);
    glint_gguf_writer_discard(&writer);
    for (size_t i = 0; i < all.n; i++)
        glint_free(all.entries[i].sums);
    glint_free(all.entries);
    glint_ids_free(&ids);
    return status;
}

static int work(struct glint_engine_args *args, const struct request *request) {
    struct glint_error err = {.status = GLINT_OK};
    size_t n = 0;
    if (glint_output_file_refuse_input(request->out, args->params.model_path, &err) != GLINT_OK ||
        glint_output_file_refuse_input(request->out, request->file, &err) != GLINT_OK)
        return glint_report(&command, &err);
    char *data = glint_read_file(&command, request->file, &n);
    struct glint_engine *engine = data ? glint_engine_args_open(args, &command) : NULL;
    int exit_status = GLINT_EXIT_FAILED;
    if (engine != NULL) {
        struct glint_text text = {.data = data, .n = n};
        exit_status = measure(engine, &text, request, &err) == GLINT_OK
                          ? GLINT_EXIT_OK
                          : glint_report(&command, &err);
    }
    glint_engine_close(&engine);
    free(data);
    return exit_status;
}

int glint_cmd_imatrix(int argc, char **argv) {
    struct glint_engine_args args;
    struct glint_options state;
    struct request request = {.window = 512};
    int id;
    glint_engine_args_init(&args);
    glint_options_init(&state, &command, argc, argv);
    while ((id = glint_options_next(&state)) > 0) {
        bool ok = true;
        if (id == OPT_FILE)
            request.file = state.value;
        else if (id == OPT_OUT)
            request.out = state.value;
        else if (id == OPT_WINDOW)
            ok = glint_options_int(&state, 4, 1 << 24, &request.window);
        else
            ok = glint_engine_args_take(&args, &state, id);
        if (!ok)
            return GLINT_EXIT_USAGE;
    }
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    if (!request.file || !request.out)
        return glint_options_usage(&command, "needs -f FILE and -o OUT.gguf");
    if (!glint_engine_args_model(&args, &command))
        return GLINT_EXIT_USAGE;
    request.quiet = args.quiet;
    if (args.params.n_context == 0)
        args.params.n_context = (int)request.window;
    if (args.params.n_context < request.window)
        return glint_options_usage(&command, "--window is over --ctx-size");
    args.params.progress = NULL; // windows are counted instead
    glint_interrupt_watch();
    return work(&args, &request);
}
