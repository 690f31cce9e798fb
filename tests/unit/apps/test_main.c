// SPDX-License-Identifier: Apache-2.0
// test_main.c — the program as a process: results that cannot be written, streams that the caller
// closed. The first argument names the program.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODEL "../models/glimmer-mini.gguf"

static const char *program;
static char out_path[128], err_path[128];

enum { CLOSED = -2 };

static int open_stream(const char *path) {
    return path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : CLOSED;
}

// Exit status with stdout and stderr going to these files; NULL: closed.
static int run(const char *out, const char *err, const char *const *words) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int streams[3] = {open("/dev/null", O_RDONLY), open_stream(out), open_stream(err)};
        for (int i = 0; i < 3; i++)
            if (streams[i] == CLOSED)
                close(i);
            else
                dup2(streams[i], i);
        const char *argv[16] = {program};
        for (int i = 0; words[i]; i++)
            argv[i + 1] = words[i];
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define RUN(out, err, ...) run(out, err, (const char *const[]){__VA_ARGS__, NULL})

static void expect_message(const char *part) {
    char text[4096];
    FILE *file = fopen(err_path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    if (!strstr(text, part))
        fail_msg("\"%s\" lacks \"%s\"", text, part);
}

static void test_full_disk(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(RUN("/dev/full", err_path, "--version"), 1);
    expect_message("standard output");
    assert_int_equal(RUN("/dev/full", err_path, "run", "--help"), 1);
    assert_int_equal(RUN("/dev/full", err_path, "inspect", MODEL), 1);
    expect_message("glint inspect: cannot write to standard output");
    assert_int_equal(RUN("/dev/full", err_path, "inspect", "--json", MODEL), 1);
    assert_int_equal(RUN("/dev/full", err_path, "eval", "-m", MODEL, "-c", "64", "--ids", "1"), 1);
    assert_int_equal(RUN("/dev/full", err_path, "nonsense"), 2);
}

static void test_closed_streams(void **state) {
    (void)state;
    assert_int_equal(RUN(out_path, err_path, "--version"), 0);
    assert_int_equal(RUN(out_path, NULL, "--version"), 0);
    assert_int_equal(RUN(NULL, err_path, "--version"), 1);
    expect_message("standard output");
    // A result file must not take the place of the missing stderr and get the messages: something
    // else stands there.
    if (access("/proc/self/fd", R_OK) == 0)
        assert_int_equal(RUN(out_path, NULL, "eval", "-m", MODEL, "-c", "64", "--ids", "1,2,3",
                             "--logits", "/proc/self/fd/2"),
                         0);
}

int main(int argc, char **argv) {
    assert_true(argc == 2);
    program = argv[1];
    const char *place = getenv("TMPDIR");
    char *const paths[] = {out_path, err_path};
    for (int i = 0; i < 2; i++)
        snprintf(paths[i], sizeof out_path, "%s/glint-main-%d.%d", place ? place : "/tmp",
                 (int)getpid(), i);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_closed_streams),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < 2; i++)
        remove(paths[i]);
    return n_failed;
}
