// SPDX-License-Identifier: Apache-2.0
// test_cmd_tokenize.c — `glint tokenize` and `glint detokenize` on standard input and output:
// each undoes the other, blocks change no id, mistakes are named.
#include "cmd.h"
#include "options.h"
#include "toy_model.h"

#include <glint/glint.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { BIG = 3 << 20 };

static struct {
    char folder[64], model[96];
    FILE *in, *out, *err;
    char *text; // [BIG]
} t;

static int setup(void **state) {
    (void)state;
    snprintf(t.folder, sizeof t.folder, "/tmp/glint_tokenize_XXXXXX");
    assert_non_null(mkdtemp(t.folder));
    snprintf(t.model, sizeof t.model, "%s/m.gguf", t.folder);
    toy_model_write(t.model, NULL);
    t.text = malloc(BIG);
    return t.text == NULL;
}

static int teardown(void **state) {
    (void)state;
    free(t.text);
    unlink(t.model);
    return rmdir(t.folder);
}

typedef int (*command_fn)(int argc, char **argv);

// Runs a command between temporary files; leaves t.out and t.err rewound.
static int run(command_fn command, const char *const *argv, const void *in, size_t n) {
    int saved[3], argc = 0;
    FILE **files[3] = {&t.in, &t.out, &t.err};
    FILE *streams[3] = {stdin, stdout, stderr};
    while (argv[argc])
        argc++;
    for (int i = 0; i < 3; i++) {
        *files[i] = tmpfile();
        assert_non_null(*files[i]);
        fflush(streams[i]);
        saved[i] = dup(i);
    }
    assert_int_equal(fwrite(in, 1, n, t.in), n);
    rewind(t.in);
    for (int i = 0; i < 3; i++)
        dup2(fileno(*files[i]), i);
    rewind(stdin); // forgets what was buffered of the input before
    int rc = command(argc, (char **)argv);
    for (int i = 0; i < 3; i++) {
        fflush(i ? streams[i] : NULL);
        dup2(saved[i], i);
        close(saved[i]);
        rewind(*files[i]);
    }
    return rc;
}

static void done(void) {
    fclose(t.in);
    fclose(t.out);
    fclose(t.err);
}

static int tokenize(const char *flag, const char *in, size_t n) {
    const char *argv[] = {"tokenize", "-m", t.model, flag, NULL};
    return run(glint_cmd_tokenize, argv, in, n);
}

static int detokenize(const char *in, size_t n) {
    const char *argv[] = {"detokenize", "-m", t.model, NULL};
    return run(glint_cmd_detokenize, argv, in, n);
}

// All of t.out in a block for free().
static char *take_output(size_t *n) {
    fseek(t.out, 0, SEEK_END);
    *n = (size_t)ftell(t.out);
    rewind(t.out);
    char *bytes = malloc(*n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n, t.out), *n);
    bytes[*n] = 0;
    done();
    return bytes;
}

static void expect_output(const char *wanted) {
    size_t n;
    char *found = take_output(&n);
    assert_string_equal(found, wanted);
    free(found);
}

static void expect_error(int rc, int wanted, const char *text) {
    char found[4096];
    size_t n = fread(found, 1, sizeof found - 1, t.err);
    found[n] = 0;
    done();
    assert_int_equal(rc, wanted);
    if (!strstr(found, text))
        fail_msg("found \"%s\", expected it to hold \"%s\"", found, text);
}

static void test_special(void **state) {
    (void)state;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%d\n98\n", TOY_VOCAB - 7);
    assert_int_equal(tokenize("--special", "<|eot|>b", 8), GLINT_EXIT_OK);
    expect_output(wanted);
    assert_int_equal(tokenize("--ids", "<|eot|>b", 8), GLINT_EXIT_OK);
    expect_output("60\n124\n101\n111\n116\n124\n62\n98\n");
    snprintf(wanted, sizeof wanted, "%d\n98\n", TOY_VOCAB - 10);
    assert_int_equal(tokenize("--bos", "b", 1), GLINT_EXIT_OK);
    expect_output(wanted);
    assert_int_equal(tokenize(NULL, "", 0), GLINT_EXIT_OK);
    expect_output("");
    // Specials come out spelled, bytes as they are, whatever separates the ids.
    snprintf(wanted, sizeof wanted, " %d,98\r\n\t195", TOY_VOCAB - 7);
    assert_int_equal(detokenize(wanted, strlen(wanted)), GLINT_EXIT_OK);
    expect_output("<|eot|>b\xc3");
}

static void fill(int kind) {
    static const char *const words[] = {"one ", "two<|eot|>", "<|start|> ", "\xc3\xa9t\xc3\xa9 ",
                                        "\n\n", "4711 ",      "it's"};
    uint64_t random = 1;
    for (size_t n = 0; n < BIG;) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const char *word = kind ? "ab" : words[(random >> 33) % 7];
        for (; *word && n < BIG; n++)
            t.text[n] = *word++;
    }
    memset(t.text + BIG - 8, 'x', 8); // no character is cut
}

// Three blocks, or one piece that fills them all; then back again.
static void test_big(void **state) {
    (void)state;
    struct glint_engine_params params = glint_engine_params_default();
    struct glint_engine *engine;
    struct glint_error err;
    params.model_path = t.model;
    params.vocab_only = true;
    assert_int_equal(glint_engine_open(&engine, &params, &err), GLINT_OK);
    for (int kind = 0; kind < 2; kind++) {
        size_t n, n_back, n_ids = 0;
        fill(kind);
        assert_int_equal(tokenize("--special", t.text, BIG), GLINT_EXIT_OK);
        char *ids = take_output(&n), *at = ids;
        struct glint_text text = {.data = t.text, .n = BIG, .special = true};
        struct glint_ids wanted;
        assert_int_equal(glint_tokenize(engine, &text, &wanted, &err), GLINT_OK);
        for (; *at; n_ids++)
            assert_true(n_ids < wanted.n && strtol(at, &at, 10) == wanted.data[n_ids] &&
                        *at++ == '\n');
        assert_int_equal(n_ids, wanted.n);
        glint_ids_free(&wanted);
        assert_int_equal(detokenize(ids, n), GLINT_EXIT_OK);
        char *back = take_output(&n_back);
        assert_int_equal(n_back, BIG);
        assert_memory_equal(back, t.text, BIG);
        free(back);
        free(ids);
    }
    glint_engine_close(&engine);
}

static void test_mistakes(void **state) {
    (void)state;
    static const char *const words[] = {
        "abc", "300", "-1", "1e3", "0x10", "99999999999", "123456789012345678901234567890"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char in[64], text[64];
        snprintf(in, sizeof in, "98\n97 %s\n", words[i]);
        snprintf(text, sizeof text, "line 2: found \"%.20s", words[i]);
        int rc = detokenize(in, strlen(in));
        expect_error(rc, GLINT_EXIT_FAILED, text);
    }
    const char *no_model[] = {"tokenize", NULL};
    int rc = run(glint_cmd_tokenize, no_model, "", 0);
    expect_error(rc, GLINT_EXIT_USAGE, "-m MODEL is missing");
    rc = run(glint_cmd_detokenize, no_model, "", 0);
    expect_error(rc, GLINT_EXIT_USAGE, "-m MODEL is missing");
    const char *operand[] = {"tokenize", "-m", t.model, "text", NULL};
    rc = run(glint_cmd_tokenize, operand, "", 0);
    expect_error(rc, GLINT_EXIT_USAGE, "found \"text\"");
    const char *no_file[] = {"tokenize", "-m", "no/such.gguf", NULL};
    rc = run(glint_cmd_tokenize, no_file, "", 0);
    expect_error(rc, GLINT_EXIT_FAILED, "no/such.gguf");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_special),
        cmocka_unit_test(test_big),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
