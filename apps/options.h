// SPDX-License-Identifier: Apache-2.0
// options.h — command line options from one table a command.
// The same table drives getopt_long_only (so -m, --model, -md and --model=X all work) and prints
// the help. Mistakes are reported on stderr; the command then returns GLINT_EXIT_USAGE.
#ifndef GLINT_APPS_OPTIONS_H
#define GLINT_APPS_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

enum glint_exit { GLINT_EXIT_OK = 0, GLINT_EXIT_FAILED = 1, GLINT_EXIT_USAGE = 2 };

enum { GLINT_OPTION_MAX_NAMES = 3, GLINT_OPTION_MAX_ENTRIES = 100 };

struct glint_option {
    int id; // >= 1, returned by glint_options_next; 0 ends the table
    const char *names[GLINT_OPTION_MAX_NAMES]; // without dashes, shortest first
    const char *arg;                           // "FILE", "N", ...; NULL for a switch
    const char *help;                          // one line or several separated by '\n'
};

struct glint_command {
    const char *name;    // "convert"
    const char *usage;   // what follows the name: "DIR -o OUT.gguf [--type TYPE]"
    const char *summary; // one sentence
    const struct glint_option *options;
};

enum { GLINT_OPTIONS_END = 0, GLINT_OPTIONS_HELP = -1, GLINT_OPTIONS_BAD = -2 };

struct glint_options {
    const struct glint_command *command;
    int max_operands;  // words that belong to no option; more are refused. 0 unless set after init
    int argc;          // after END: number of operands
    char **argv;       // after END: the operands
    const char *value; // argument of the option just returned
    const struct glint_option *option; // the option just returned
    struct option table[GLINT_OPTION_MAX_ENTRIES];
};

// argv[0] is the command's name.
void glint_options_init(struct glint_options *state, const struct glint_command *command, int argc,
                        char **argv);
// The id of the next option, or END, HELP (help was printed: return GLINT_EXIT_OK) or BAD (a
// message was printed: return GLINT_EXIT_USAGE). --help and -h need no row in the table.
int glint_options_next(struct glint_options *state);
// Turns HELP and BAD into exit statuses.
int glint_options_exit(int result);

// The current option's value as a number in [min, max]; false after printing what was wrong.
bool glint_options_int(const struct glint_options *state, int64_t min, int64_t max, int64_t *out);
bool glint_options_int32(const struct glint_options *state, int64_t min, int64_t max, int *out);
bool glint_options_double(const struct glint_options *state, double min, double max, double *out);
// Prints "glint COMMAND: <text>" and a pointer to --help on stderr; returns GLINT_EXIT_USAGE.
int glint_options_usage(const struct glint_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void glint_options_print_help(const struct glint_command *command);

#endif
