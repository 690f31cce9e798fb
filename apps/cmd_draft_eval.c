// SPDX-License-Identifier: Apache-2.0
// cmd_draft_eval.c — `glint draft-eval`: what the drafter proposes after the first N of given
// tokens, the N-th being the last one known; for comparing drafters and engines.
#include "cmd.h"
#include "engine_args.h"
#include "options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_IDS = 1, OPT_KNOWN };

static const struct glint_option options[] = {
    {OPT_IDS, {"ids"}, "LIST|@FILE", "token ids: 1,2,3 or a file of them"},
    {OPT_KNOWN, {"known"}, "N[,N...]", "how many of them are known; several are tried in turn"},
    GLINT_ENGINE_OPTIONS,
    GLINT_DRAFT_OPTIONS,
    {0},
};

static const struct glint_command command = {
    "draft-eval",
    "[-m MODEL] [-md DRAFTER] --ids LIST|@FILE --known N...",
    "Prints the drafter's proposals after N known tokens, a line of ids each.",
    options,
};

struct lists {
    int32_t *ids, *known;
    int n_ids, n_known;
};

// The numbers of --known and of the operands behind it.
static bool add_known(struct lists *lists, const char *text) {
    int32_t *more;
    int n;
    if (!glint_parse_ids(&command, text, &more, &n))
        return false;
    int32_t *all = realloc(lists->known, (size_t)(lists->n_known + n) * sizeof *all);
    if (all) {
        memcpy(all + lists->n_known, more, (size_t)n * sizeof *all);
        lists->known = all;
        lists->n_known += n;
    }
    free(more);
    return all != NULL;
}

static bool check_known(const struct lists *lists) {
    for (int i = 0; i < lists->n_known; i++)
        if (lists->known[i] < 2 || lists->known[i] > lists->n_ids) {
            glint_options_usage(&command, "--known: found %d, expected 2 to %d, the number of ids",
                                lists->known[i], lists->n_ids);
            return false;
        }
    return true;
}

static int evaluate(struct glint_engine *engine, const struct lists *lists) {
    struct glint_error error = {0};
    struct glint_session *session = NULL;
    int n_draft = glint_engine_info(engine).n_draft;
    int32_t *out = malloc((size_t)n_draft * sizeof *out);
    enum glint_status status = out ? glint_session_open(&session, engine, &error) : GLINT_E_NOMEM;
    for (int i = 0; i < lists->n_known && status == GLINT_OK; i++) {
        int n = lists->known[i];
        struct glint_proposals proposals = {.anchor = lists->ids[n - 1], .n = n_draft, .ids = out};
        status = glint_session_sync(session, lists->ids, n - 1, NULL, &error);
        if (status == GLINT_OK)
            status = glint_session_propose(session, &proposals, &error);
        for (int k = 0; k < n_draft && status == GLINT_OK; k++)
            printf("%d%c", out[k], k + 1 < n_draft ? ' ' : '\n');
    }
    glint_session_close(&session);
    free(out);
    return status == GLINT_OK ? GLINT_EXIT_OK : glint_report(&command, &error);
}

static int run(struct glint_engine_args *args, struct lists *lists, int argc, char **argv) {
    struct glint_options state;
    glint_options_init(&state, &command, argc, argv);
    state.max_operands = INT_MAX;
    int id;
    while ((id = glint_options_next(&state)) > 0) {
        bool ok;
        if (id == OPT_IDS) {
            free(lists->ids);
            lists->ids = NULL;
            ok = glint_parse_ids(&command, state.value, &lists->ids, &lists->n_ids);
        } else if (id == OPT_KNOWN) {
            ok = add_known(lists, state.value);
        } else {
            ok = glint_engine_args_take(args, &state, id);
        }
        if (!ok)
            return GLINT_EXIT_USAGE;
    }
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    for (int i = 0; i < state.argc; i++)
        if (!add_known(lists, state.argv[i]))
            return GLINT_EXIT_USAGE;
    if (!lists->ids || lists->n_known == 0)
        return glint_options_usage(&command, "needs --ids LIST and --known N");
    if (!check_known(lists))
        return GLINT_EXIT_USAGE;
    struct glint_engine *engine = glint_engine_args_open(args, &command);
    int result = GLINT_EXIT_FAILED;
    if (engine && glint_engine_info(engine).n_draft == 0)
        result = glint_options_usage(&command, "no drafter beside the model: needs -md FILE");
    else if (engine)
        result = evaluate(engine, lists);
    glint_engine_close(&engine);
    return result;
}

int glint_cmd_draft_eval(int argc, char **argv) {
    struct glint_engine_args args;
    struct lists lists = {NULL, NULL, 0, 0};
    glint_engine_args_init(&args);
    args.seek_draft = true;
    int result = run(&args, &lists, argc, argv);
    free(lists.ids);
    free(lists.known);
    return result;
}
