// SPDX-License-Identifier: Apache-2.0
// cmd.h — the subcommands of the program. Each takes its own argv (argv[0] is its name) and
// returns an exit status of options.h; a new one is declared here and gets a row in main.c.
#ifndef GLINT_APPS_CMD_H
#define GLINT_APPS_CMD_H

int glint_cmd_bench(int argc, char **argv);
int glint_cmd_chat(int argc, char **argv);
int glint_cmd_convert(int argc, char **argv);
int glint_cmd_detokenize(int argc, char **argv);
int glint_cmd_draft_eval(int argc, char **argv);
int glint_cmd_eval(int argc, char **argv);
int glint_cmd_vision_eval(int argc, char **argv);
int glint_cmd_imatrix(int argc, char **argv);
int glint_cmd_inspect(int argc, char **argv);
int glint_cmd_parse(int argc, char **argv);
int glint_cmd_perplexity(int argc, char **argv);
int glint_cmd_quantize(int argc, char **argv);
int glint_cmd_run(int argc, char **argv);
int glint_cmd_serve(int argc, char **argv); // where libmicrohttpd was found
int glint_cmd_template(int argc, char **argv);
int glint_cmd_tokenize(int argc, char **argv);

#endif
