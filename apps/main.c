// SPDX-License-Identifier: Apache-2.0
// main.c — the glint program: finds the subcommand, runs it, and sees to it that its output
// arrived.
#include "cmd.h"
#include "options.h"
#include "spelling.h"

#include <fcntl.h>
#include <glint/glint.h>
#include <stdio.h>
#include <string.h>

struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

// In the order in which help lists them.
static const struct command commands[] = {
    {"chat", "a conversation in the terminal", glint_cmd_chat},
    {"run", "one answer to one prompt", glint_cmd_run},
#ifdef GLINT_SERVER
    {"serve", "an HTTP server for OpenAI's, Anthropic's and Ollama's clients", glint_cmd_serve},
#endif
    {"inspect", "what a GGUF file holds and the memory it needs", glint_cmd_inspect},
    {"convert", "official Hugging Face folder to GGUF", glint_cmd_convert},
    {"quantize", "a GGUF file with smaller weights", glint_cmd_quantize},
    {"imatrix", "importance of weights, for quantize", glint_cmd_imatrix},
    {"template", "a conversation as the prompt the model sees", glint_cmd_template},
    {"parse", "model output as a message", glint_cmd_parse},
    {"tokenize", "text to token ids", glint_cmd_tokenize},
    {"detokenize", "token ids to text", glint_cmd_detokenize},
    {"eval", "logits and hidden rows of given tokens", glint_cmd_eval},
    {"draft-eval", "what a drafter proposes after given tokens", glint_cmd_draft_eval},
    {"vision-eval", "what the vision path makes of a picture", glint_cmd_vision_eval},
    {"perplexity", "how well a model predicts a text", glint_cmd_perplexity},
    {"bench", "prefill and decode speed", glint_cmd_bench},
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out) {
    fprintf(out, "glint %s: an inference engine for Muse Glimmer\n\n", GLINT_VERSION);
    fprintf(out, "Usage: glint COMMAND [OPTIONS]\n\nCommands:\n");
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n`glint COMMAND --help` tells a command's options.\n");
}

static int is_one_of(const char *text, const char *a, const char *b, const char *c) {
    return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

// A stream that the caller closed would be the next file to be opened, and messages would go into
// it. Nobody reads what takes its place: writing a result there fails, messages are lost.
static void keep_streams_apart(void) {
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", modes[fd]);
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return GLINT_EXIT_USAGE;
    }
    if (is_one_of(argv[1], "--help", "-h", "help")) {
        print_help(stdout);
        return GLINT_EXIT_OK;
    }
    if (is_one_of(argv[1], "--version", "-V", "version")) {
        printf("glint %s\n", GLINT_VERSION);
        return GLINT_EXIT_OK;
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    struct glint_spelling spelling = {.word = argv[1], .n = strlen(argv[1])};
    for (int i = 0; i < N_COMMANDS; i++)
        glint_spelling_offer(&spelling, commands[i].name);
    fprintf(stderr, "glint: no command \"%s\"", argv[1]);
    if (spelling.nearest)
        fprintf(stderr, "; did you mean \"%s\"?", spelling.nearest);
    fprintf(stderr, "\nTry: glint --help\n");
    return GLINT_EXIT_USAGE;
}

int main(int argc, char **argv) {
    keep_streams_apart();
    int result = run(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return result;
    fprintf(stderr, "glint%s%s: cannot write to standard output (disk full?)\n",
            argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
    return result == GLINT_EXIT_OK ? GLINT_EXIT_FAILED : result;
}
