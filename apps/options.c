// SPDX-License-Identifier: Apache-2.0
// options.c — the table turned into getopt_long_only's form, help text, and value checks.
// getopt keeps its place in globals of the C library: one command line is read at a time.
#include "options.h"

#include "spelling.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_HELP = 1 << 20 };

static void add_entry(struct glint_options *state, int *n, const char *name, bool has_arg, int id) {
    if (*n + 1 >= GLINT_OPTION_MAX_ENTRIES)
        abort(); // a table of ours has outgrown the array
    state->table[*n] = (struct option){name, has_arg ? required_argument : no_argument, NULL, id};
    *n += 1;
}

void glint_options_init(struct glint_options *state, const struct glint_command *command, int argc,
                        char **argv) {
    memset(state, 0, sizeof *state);
    state->command = command;
    state->argc = argc;
    state->argv = argv;
    int n = 0;
    for (const struct glint_option *option = command->options; option->id != 0; option++)
        for (int i = 0; i < GLINT_OPTION_MAX_NAMES && option->names[i]; i++)
            add_entry(state, &n, option->names[i], option->arg != NULL, option->id);
    add_entry(state, &n, "help", false, ID_HELP);
    add_entry(state, &n, "h", false, ID_HELP);
    optind = 0; // glibc and musl: start afresh
    opterr = 0; // messages are ours
}

static const struct glint_option *option_of(const struct glint_command *command, int id) {
    for (const struct glint_option *option = command->options; option->id != 0; option++)
        if (option->id == id)
            return option;
    return NULL;
}

// "option --x is not known", with the one that may have been meant.
static void refuse_unknown(const struct glint_options *state, const char *text) {
    struct glint_spelling spelling = {.word = text + strspn(text, "-")};
    spelling.n = strcspn(spelling.word, "=");
    for (const struct option *entry = state->table; entry->name; entry++)
        glint_spelling_offer(&spelling, entry->name);
    if (spelling.nearest)
        glint_options_usage(state->command, "option %s is not known; did you mean %s%s?", text,
                            spelling.nearest[2] ? "--" : "-", spelling.nearest);
    else
        glint_options_usage(state->command, "option %s is not known", text);
}

int glint_options_next(struct glint_options *state) {
    int previous = optind < 1 ? 1 : optind;
    int id = getopt_long_only(state->argc, state->argv, ":", state->table, NULL);
    if (id == -1) {
        state->argc -= optind;
        state->argv += optind;
        if (state->argc <= state->max_operands)
            return GLINT_OPTIONS_END;
        glint_options_usage(state->command,
                            "found \"%s\", which belongs to no option (a text with spaces needs "
                            "quotes)",
                            state->argv[state->max_operands]);
        return GLINT_OPTIONS_BAD;
    }
    if (id == ID_HELP) {
        glint_options_print_help(state->command);
        return GLINT_OPTIONS_HELP;
    }
    if (id == '?' || id == ':') {
        const char *text = state->argv[optind > previous ? optind - 1 : previous];
        if (id == ':')
            glint_options_usage(state->command, "option %s needs a value", text);
        else if (optopt != 0)
            glint_options_usage(state->command, "option %s takes no value", text);
        else
            refuse_unknown(state, text);
        return GLINT_OPTIONS_BAD;
    }
    state->value = optarg;
    state->option = option_of(state->command, id);
    return id;
}

int glint_options_exit(int result) {
    return result == GLINT_OPTIONS_HELP ? GLINT_EXIT_OK : GLINT_EXIT_USAGE;
}

static const char *longest_name(const struct glint_option *option) {
    const char *name = option->names[0];
    for (int i = 0; i < GLINT_OPTION_MAX_NAMES && option->names[i]; i++)
        name = option->names[i];
    return name;
}

bool glint_options_int(const struct glint_options *state, int64_t min, int64_t max, int64_t *out) {
    char *end;
    errno = 0;
    long long value = strtoll(state->value, &end, 10);
    if (end == state->value || *end != 0 || errno != 0 || value < min || value > max) {
        glint_options_usage(state->command,
                            "--%s: found \"%s\", expected a whole number from %lld "
                            "to %lld",
                            longest_name(state->option), state->value, (long long)min,
                            (long long)max);
        return false;
    }
    *out = value;
    return true;
}

bool glint_options_int32(const struct glint_options *state, int64_t min, int64_t max, int *out) {
    int64_t value;
    if (!glint_options_int(state, min, max, &value))
        return false;
    *out = (int)value;
    return true;
}

bool glint_options_double(const struct glint_options *state, double min, double max, double *out) {
    char *end;
    double value = strtod(state->value, &end);
    if (end == state->value || *end != 0 || !isfinite(value) || value < min || value > max) {
        glint_options_usage(state->command, "--%s: found \"%s\", expected a number from %g to %g",
                            longest_name(state->option), state->value, min, max);
        return false;
    }
    *out = value;
    return true;
}

int glint_options_usage(const struct glint_command *command, const char *format, ...) {
    va_list args;
    fprintf(stderr, "glint %s: ", command->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry: glint %s --help\n", command->name);
    return GLINT_EXIT_USAGE;
}

static void print_option(const struct glint_option *option) {
    char left[80];
    int n = 0;
    for (int i = 0; i < GLINT_OPTION_MAX_NAMES && option->names[i]; i++) {
        bool last = i + 1 == GLINT_OPTION_MAX_NAMES || !option->names[i + 1];
        n += snprintf(left + n, sizeof left - (size_t)n, "%s%s%s", i ? ", " : "  ",
                      last && option->names[i][1] ? "--" : "-", option->names[i]);
        if (n >= (int)sizeof left)
            n = (int)sizeof left - 1;
    }
    snprintf(left + n, sizeof left - (size_t)n, "%s%s", option->arg ? " " : "",
             option->arg ? option->arg : "");
    const char *help = option->help;
    if (strlen(left) > 26)
        printf("%s\n%-28s", left, "");
    else
        printf("%-28s", left);
    for (const char *end; (end = strchr(help, '\n')) != NULL; help = end + 1)
        printf("%.*s\n%-28s", (int)(end - help), help, "");
    printf("%s\n", help);
}

void glint_options_print_help(const struct glint_command *command) {
    printf("Usage: glint %s %s\n\n%s\n\nOptions:\n", command->name, command->usage,
           command->summary);
    for (const struct glint_option *option = command->options; option->id != 0; option++)
        print_option(option);
    const struct glint_option help = {ID_HELP, {"h", "help"}, NULL, "show this text"};
    print_option(&help);
}
