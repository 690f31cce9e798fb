// SPDX-License-Identifier: Apache-2.0
// cmd_eval.c — `glint eval`: logits and hidden rows of given tokens, for comparing engines.
// --logits: [last][n_vocab], rows in position order. --hidden: [n_layer + 1][n][width]; block 0
// holds the normed embeddings, block k the output of layer k - 1, the last block the rows after
// the final norm. All raw little-endian float32.
#include "album.h"
#include "cmd.h"
#include "engine_args.h"
#include "options.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_IDS = 1, OPT_LOGITS, OPT_HIDDEN, OPT_LAST, OPT_CHUNK, N_BEST = 5 };

static const struct glint_option options[] = {
    {OPT_IDS, {"ids"}, "LIST|@FILE", "token ids to evaluate: 1,2,3 or a file of them"},
    {OPT_LOGITS, {"logits"}, "OUT", "write logits here (raw float32, rows in position order)"},
    {OPT_HIDDEN, {"hidden"}, "OUT", "write hidden rows here: [layers + 1][tokens][width]"},
    {OPT_LAST, {"last"}, "N", "logits of the last N positions only (default: all)"},
    {OPT_CHUNK, {"chunk"}, "K", "evaluate K rows at a time; does not change the result"},
    GLINT_ALBUM_OPTIONS,
    GLINT_ENGINE_OPTIONS,
    {0},
};

static const struct glint_command command = {
    "eval",
    "[-m MODEL] --ids LIST|@FILE [--logits OUT] [--hidden OUT]",
    "Evaluates tokens and writes logits; prints the likeliest next tokens.",
    options,
};

struct output {
    FILE *logits, *hidden;
    const char *logits_path, *hidden_path;
    const struct glint_album *album; // its pictures fill the placeholders among the ids
    size_t n_vocab, width;
    int n, n_layer;
    bool failed;
};

static void on_logits(void *user, int position, const float *logits) {
    struct output *out = user;
    (void)position; // rows arrive in position order
    if (out->logits && fwrite(logits, sizeof(float), out->n_vocab, out->logits) != out->n_vocab)
        out->failed = true;
}

static void on_hidden(void *user, int k, int position, const float *row) {
    struct output *out = user;
    size_t index = (size_t)k * (size_t)out->n + (size_t)position;
    if (fseeko(out->hidden, (off_t)(index * out->width * sizeof(float)), SEEK_SET) != 0 ||
        fwrite(row, sizeof(float), out->width, out->hidden) != out->width)
        out->failed = true;
}

static bool open_output(FILE **file, const char *path, const char *model_path) {
    *file = path ? glint_open_result(&command, path, model_path) : NULL;
    return !path || *file;
}

static bool close_output(FILE *file, const char *path, bool keep) {
    if (!file)
        return true;
    bool ok = fclose(file) == 0 && keep;
    if (!ok) {
        fprintf(stderr, "glint eval: %s: not written\n", path);
        glint_remove_result(path);
    }
    return ok;
}

static void print_best(const float *logits, int n_vocab) {
    int shown[N_BEST];
    for (int i = 0; i < N_BEST && i < n_vocab; i++) {
        int best = -1;
        for (int id = 0; id < n_vocab; id++) {
            bool seen = false;
            for (int j = 0; j < i; j++)
                seen = seen || shown[j] == id;
            if (!seen && (best < 0 || logits[id] > logits[best]))
                best = id;
        }
        shown[i] = best;
        printf("%d %.6f\n", best, (double)logits[best]);
    }
}

static int evaluate(struct glint_engine *engine, struct glint_eval *eval, struct output *out) {
    struct glint_error error = {0};
    struct glint_session *session = NULL;
    struct glint_engine_info info = glint_engine_info(engine);
    out->n_vocab = (size_t)info.n_vocab;
    out->width = (size_t)info.width;
    out->n = eval->n;
    out->n_layer = info.n_layer;
    bool ok = open_output(&out->logits, out->logits_path, info.model_path) &&
              open_output(&out->hidden, out->hidden_path, info.model_path);
    enum glint_status status = GLINT_OK;
    if (ok) {
        eval->user = out;
        eval->on_logits = on_logits;
        eval->on_hidden = out->hidden ? on_hidden : NULL;
        status = glint_session_open(&session, engine, &error);
        if (status == GLINT_OK)
            status =
                glint_session_set_pictures(session, out->album->pictures, out->album->n, &error);
        if (status == GLINT_OK)
            status = glint_session_eval(session, eval, &error);
        ok = status == GLINT_OK && !out->failed;
    }
    if (status != GLINT_OK)
        glint_report(&command, &error);
    else if (out->failed)
        fprintf(stderr, "glint eval: cannot write: the disk is full or the file failed\n");
    ok = close_output(out->logits, out->logits_path, ok) && ok;
    ok = close_output(out->hidden, out->hidden_path, ok) && ok;
    if (ok)
        print_best(glint_session_logits(session), info.n_vocab);
    glint_session_close(&session);
    return ok ? GLINT_EXIT_OK : GLINT_EXIT_FAILED;
}

// The pictures of the flags; they must fill the placeholders exactly. False after printing.
static bool add_pictures(const struct glint_engine *engine, const struct glint_eval *eval,
                         struct glint_album *album) {
    struct glint_error error = {0};
    int32_t patch = glint_special_id(engine, "<|patch|>");
    long long places = 0, rows = 0;
    if (glint_album_add_paths(album, &error) != GLINT_OK) {
        glint_report(&command, &error);
        return false;
    }
    for (int i = 0; i < eval->n; i++)
        places += eval->ids[i] == patch;
    for (size_t i = 0; i < album->n; i++)
        rows += glint_picture_info(album->pictures[i]).n_tokens;
    if (album->n > 0 && places != rows)
        fprintf(stderr,
                "glint eval: --ids: found %lld times <|patch|> (id %d), expected %lld, the rows of "
                "the pictures\n",
                places, patch, rows);
    return album->n == 0 || places == rows;
}

int glint_cmd_eval(int argc, char **argv) {
    struct glint_engine_args args;
    struct glint_options state;
    struct glint_eval eval = {0};
    struct glint_album album;
    struct output out = {.album = &album};
    const char *list = NULL;
    int64_t last = -1, chunk = 0;
    glint_engine_args_init(&args);
    glint_album_init(&album, &args);
    glint_options_init(&state, &command, argc, argv);
    int id;
    while ((id = glint_options_next(&state)) > 0) {
        bool ok = true;
        if (id == OPT_IDS)
            list = state.value;
        else if (id == OPT_LOGITS)
            out.logits_path = state.value;
        else if (id == OPT_HIDDEN)
            out.hidden_path = state.value;
        else if (id == OPT_LAST)
            ok = glint_options_int(&state, 0, INT32_MAX, &last);
        else if (id == OPT_CHUNK)
            ok = glint_options_int(&state, 1, INT32_MAX, &chunk);
        else if (id >= GLINT_ARG_IMAGE)
            ok = glint_album_take(&album, &state, id);
        else
            ok = glint_engine_args_take(&args, &state, id);
        if (!ok)
            return GLINT_EXIT_USAGE;
    }
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    if (!list)
        return glint_options_usage(&command, "needs --ids LIST");
    if (out.logits_path && out.hidden_path && strcmp(out.logits_path, out.hidden_path) == 0)
        return glint_options_usage(&command, "--logits and --hidden need two files");
    int32_t *ids;
    if (!glint_parse_ids(&command, list, &ids, &eval.n))
        return GLINT_EXIT_USAGE;
    eval.ids = ids;
    eval.n_chunk = (int)chunk;
    eval.n_logits = last < 0 || last > eval.n ? eval.n : (int)last;
    struct glint_engine *engine = glint_engine_args_open(&args, &command);
    int result = GLINT_EXIT_FAILED;
    if (engine && add_pictures(engine, &eval, &album))
        result = evaluate(engine, &eval, &out);
    glint_engine_close(&engine);
    glint_album_fini(&album);
    free(ids);
    return result;
}
