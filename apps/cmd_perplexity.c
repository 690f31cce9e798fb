// SPDX-License-Identifier: Apache-2.0
// cmd_perplexity.c — `glint perplexity`: how well a model predicts a text, and how far its
// distribution is from another's.
// The text is cut into windows of --window tokens, each opened by BOS where the model wants one;
// the second half of every window is scored, so that each scored token has context. A base file
// (--kl-save) holds a header and the logits of every scored position, raw float32. --kl-rows
// lists the comparison position by position, so that two models can be compared in pairs.
#include "cmd.h"
#include "engine_args.h"
#include "options.h"
#include "progress.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_FILE = 1, OPT_IDS, OPT_WINDOW, OPT_SAVE, OPT_BASE, OPT_ROWS };

static const struct glint_option options[] = {
    {OPT_FILE, {"f", "file"}, "FILE", "the text; - is standard input"},
    {OPT_IDS, {"ids"}, "LIST|@FILE", "token ids instead of a text"},
    {OPT_WINDOW, {"window"}, "N", "tokens of a window (default: 512)"},
    {OPT_SAVE, {"kl-save"}, "F", "save this model's logits as a base"},
    {OPT_BASE, {"kl-base"}, "F", "compare with the logits in F: KL divergence, top-1"},
    {OPT_ROWS,
     {"kl-rows"},
     "F",
     "with --kl-base: write each position's KL and 1 if its top-1 agrees"},
    GLINT_ENGINE_OPTIONS,
    {0},
};

static const struct glint_command command = {
    "perplexity",
    "[-m MODEL] -f FILE [--kl-save F | --kl-base F]",
    "Perplexity of a text; KL divergence and top-1 agreement against a saved base.",
    options,
};

struct base_header {
    char magic[8];
    int32_t n_vocab, window;
    int64_t n_ids;
    uint64_t ids_hash;
};

struct measure {
    FILE *save, *base, *rows;
    const int32_t *ids; // of the window at hand
    int n_window, n_vocab;
    float *row; // of the base [n_vocab]
    int64_t n_scored, n_same_top;
    double sum_nll, sum_kl, max_kl;
    bool failed;
};

// log(sum(exp(x))) in double.
static double log_sum_exp(const float *x, int n, int *best) {
    *best = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > x[*best])
            *best = i;
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += exp((double)x[i] - (double)x[*best]);
    return log(sum) + (double)x[*best];
}

static void compare_base(struct measure *measure, const float *logits, double lse, int best) {
    size_t n = (size_t)measure->n_vocab;
    if (fread(measure->row, sizeof(float), n, measure->base) != n) {
        measure->failed = true;
        return;
    }
    int base_best;
    double base_lse = log_sum_exp(measure->row, measure->n_vocab, &base_best), kl = 0;
    for (size_t i = 0; i < n; i++) {
        double lp = (double)measure->row[i] - base_lse, lq = (double)logits[i] - lse;
        kl += exp(lp) * (lp - lq);
    }
    measure->sum_kl += kl;
    if (kl > measure->max_kl)
        measure->max_kl = kl;
    measure->n_same_top += base_best == best;
    if (measure->rows && fprintf(measure->rows, "%.9g %d\n", kl, base_best == best) < 0)
        measure->failed = true;
}

static void on_logits(void *user, int position, const float *logits) {
    struct measure *measure = user;
    if (position + 1 >= measure->n_window || measure->failed)
        return; // the window's last row predicts a token outside it
    int best;
    double lse = log_sum_exp(logits, measure->n_vocab, &best);
    measure->sum_nll += lse - (double)logits[measure->ids[position + 1]];
    measure->n_scored++;
    size_t n = (size_t)measure->n_vocab;
    if (measure->save && fwrite(logits, sizeof(float), n, measure->save) != n)
        measure->failed = true;
    if (measure->base)
        compare_base(measure, logits, lse, best);
}

// FNV-1a over the ids: the base must be of the same text.
static uint64_t hash_ids(const int32_t *ids, int n) {
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < n; i++)
        hash = (hash ^ (uint32_t)ids[i]) * 1099511628211u;
    return hash;
}

struct files {
    const char *model;
    const char *save, *base, *rows; // NULL: none; rows only with base, save only without
    bool quiet;
};

static bool open_files(struct measure *measure, const struct files *files,
                       const struct base_header *header) {
    const char *base = files->base, *written = files->save ? files->save : files->rows;
    struct base_header found;
    if (written) {
        FILE *file = glint_open_result(&command, written, files->model);
        *(files->save ? &measure->save : &measure->rows) = file;
        if (!file)
            return false;
        if (files->save && fwrite(header, sizeof *header, 1, file) != 1) {
            fprintf(stderr, "glint perplexity: %s: cannot write: %s\n", written, strerror(errno));
            return false;
        }
    }
    if (!base)
        return true;
    measure->base = fopen(base, "rb");
    measure->row = malloc((size_t)measure->n_vocab * sizeof(float));
    if (!measure->base || !measure->row) {
        fprintf(stderr, "glint perplexity: %s: cannot open: %s\n", base, strerror(errno));
        return false;
    }
    if (fread(&found, sizeof found, 1, measure->base) != 1 ||
        memcmp(&found, header, sizeof found) != 0) {
        fprintf(stderr,
                "glint perplexity: %s: found another text, window or vocabulary, expected a base "
                "saved with --kl-save from the same ones\n",
                base);
        return false;
    }
    return true;
}

static enum glint_status measure_all(struct glint_engine *engine, struct measure *measure,
                                     const struct glint_ids *ids, int window, bool quiet,
                                     struct glint_error *error) {
    struct glint_session *session = NULL;
    int32_t *buffer = malloc(((size_t)window + 1) * sizeof *buffer);
    enum glint_status status = buffer ? glint_session_open(&session, engine, error) : GLINT_E_NOMEM;
    if (!buffer)
        snprintf(error->text, sizeof error->text, "no memory for windows of %d tokens", window);
    int32_t bos = glint_special_id(engine, "<|begin_of_text|>");
    int lead = bos >= 0, body = window - lead;
    struct glint_progress progress;
    glint_progress_begin(&progress, "measuring", ids->n, quiet);
    progress.tokens = true;
    for (size_t at = 0; status == GLINT_OK && at + (size_t)body <= ids->n; at += (size_t)body) {
        buffer[0] = bos;
        memcpy(buffer + lead, ids->data + at, (size_t)body * sizeof *buffer);
        measure->ids = buffer;
        measure->n_window = window;
        struct glint_eval eval = {.ids = buffer,
                                  .n = window,
                                  .n_logits = window - window / 2,
                                  .on_logits = on_logits,
                                  .user = measure};
        status = glint_session_truncate(session, 0, error);
        if (status == GLINT_OK)
            status = glint_session_eval(session, &eval, error);
        if (measure->failed) {
            snprintf(error->text, sizeof error->text, "%s",
                     measure->base && feof(measure->base) ? "base file: ends too early"
                                                          : strerror(errno));
            status = GLINT_E_IO;
        }
        glint_progress_step(&progress, at + (size_t)body);
    }
    glint_progress_end(&progress, status == GLINT_OK);
    glint_session_close(&session);
    free(buffer);
    return status;
}

static int perplexity(struct glint_engine *engine, const struct glint_ids *ids, int window,
                      const struct files *files) {
    struct glint_error error = {0};
    struct measure measure = {.n_vocab = glint_engine_info(engine).n_vocab};
    struct base_header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, "GLINTKL1", 8);
    header.n_vocab = measure.n_vocab;
    header.window = window;
    header.n_ids = (int64_t)ids->n;
    header.ids_hash = hash_ids(ids->data, (int)ids->n);
    int result = GLINT_EXIT_FAILED;
    if ((int)ids->n < window) {
        fprintf(stderr,
                "glint perplexity: the text has %zu tokens, expected at least a window of %d\n",
                ids->n, window);
    } else if (open_files(&measure, files, &header)) {
        if (measure_all(engine, &measure, ids, window, files->quiet, &error) == GLINT_OK)
            result = GLINT_EXIT_OK;
        else
            glint_report(&command, &error);
    }
    FILE *written = measure.save ? measure.save : measure.rows;
    if (written && (fclose(written) != 0 || result != GLINT_EXIT_OK)) {
        const char *path = files->save ? files->save : files->rows;
        fprintf(stderr, "glint perplexity: %s: not written\n", path);
        glint_remove_result(path);
        result = GLINT_EXIT_FAILED;
    }
    if (measure.base)
        fclose(measure.base);
    free(measure.row);
    if (result != GLINT_EXIT_OK)
        return result;
    double n = (double)measure.n_scored;
    printf("tokens %lld\nperplexity %.4f\nnll %.6f\n", (long long)measure.n_scored,
           exp(measure.sum_nll / n), measure.sum_nll / n);
    if (files->base)
        printf("mean_kl %.6f\nmax_kl %.6f\ntop1 %.4f\n", measure.sum_kl / n, measure.max_kl,
               (double)measure.n_same_top / n);
    return GLINT_EXIT_OK;
}

static bool read_ids(struct glint_engine *engine, const char *file, const char *list,
                     struct glint_ids *ids, int *result) {
    int n_ids;
    *result = GLINT_EXIT_FAILED;
    if (list) {
        *result = GLINT_EXIT_USAGE;
        if (!glint_parse_ids(&command, list, &ids->data, &n_ids))
            return false;
        ids->n = (size_t)n_ids;
        return true;
    }
    struct glint_error error = {0};
    size_t n;
    char *data = glint_read_file(&command, file, &n);
    if (!data)
        return false;
    struct glint_text text = {.data = data, .n = n};
    bool ok = glint_tokenize(engine, &text, ids, &error) == GLINT_OK;
    free(data);
    if (!ok)
        glint_report(&command, &error);
    return ok;
}

int glint_cmd_perplexity(int argc, char **argv) {
    struct glint_engine_args args;
    struct glint_options state;
    const char *file = NULL, *list = NULL;
    struct files files = {NULL};
    int64_t window = 512;
    glint_engine_args_init(&args);
    glint_options_init(&state, &command, argc, argv);
    int id;
    while ((id = glint_options_next(&state)) > 0) {
        bool ok = true;
        if (id == OPT_FILE)
            file = state.value;
        else if (id == OPT_IDS)
            list = state.value;
        else if (id == OPT_WINDOW)
            ok = glint_options_int(&state, 4, 1 << 24, &window);
        else if (id == OPT_SAVE)
            files.save = state.value;
        else if (id == OPT_BASE)
            files.base = state.value;
        else if (id == OPT_ROWS)
            files.rows = state.value;
        else
            ok = glint_engine_args_take(&args, &state, id);
        if (!ok)
            return GLINT_EXIT_USAGE;
    }
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    if (!file == !list || (files.save && files.base) || (files.rows && !files.base))
        return glint_options_usage(&command, "needs -f FILE or --ids LIST, at most one of "
                                             "--kl-save and --kl-base, and --kl-rows only with "
                                             "--kl-base");
    if (!glint_engine_args_model(&args, &command))
        return GLINT_EXIT_USAGE;
    if (args.params.n_context == 0)
        args.params.n_context = (int)window;
    args.params.progress = NULL; // windows are counted instead
    files.quiet = args.quiet;
    files.model = args.params.model_path;
    struct glint_engine *engine = glint_engine_args_open(&args, &command);
    struct glint_ids ids = {0};
    int result = GLINT_EXIT_FAILED;
    if (engine && read_ids(engine, file, list, &ids, &result))
        result = perplexity(engine, &ids, (int)window, &files);
    glint_engine_close(&engine);
    if (list)
        free(ids.data); // ours, not the library's
    else
        glint_ids_free(&ids);
    return result;
}
