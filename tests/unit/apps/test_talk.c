// SPDX-License-Identifier: Apache-2.0
// test_talk.c — `glint chat` in a pipe, on the model that ships with glint: answers alone on
// standard output, each turn evaluating new tokens only, the commands, and files that are no
// conversation. (The terminal is tested in tests/app.)
#include "cmd.h"
#include "options.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define WEATHER "/tools ../tools/demo/weather.json\n"

#define SHAPES "../tools/demo/shapes.png"

enum { TEXT_BYTES = 1 << 16 };

static char out_text[TEXT_BYTES], err_text[TEXT_BYTES], folder[64], saved[96];

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/glint_talk_XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(saved, sizeof saved, "%s/talk.json", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    unlink(saved);
    return rmdir(folder);
}

static void take(FILE *file, char *text) {
    rewind(file);
    text[fread(text, 1, TEXT_BYTES - 1, file)] = 0;
    fclose(file);
}

// Lets the command read `in`; its streams are in out_text and err_text.
static int talk_with(const char *in, const char *const *more) {
    const char *argv[32] = {"chat", "--temp", "0", "-c", "1024"};
    FILE *files[3] = {tmpfile(), tmpfile(), tmpfile()};
    int old[3], argc = 5;
    for (int i = 0; more[i]; i++)
        argv[argc++] = more[i];
    fflush(NULL);
    fflush(stdin); // forgets what was buffered of the input before
    for (int i = 0; i < 3; i++) {
        assert_non_null(files[i]);
        old[i] = dup(i);
    }
    fwrite(in, 1, strlen(in), files[0]);
    rewind(files[0]);
    for (int i = 0; i < 3; i++)
        dup2(fileno(files[i]), i);
    clearerr(stdin);
    int rc = glint_cmd_chat(argc, (char **)(uintptr_t)argv);
    fflush(NULL);
    for (int i = 0; i < 3; i++) {
        dup2(old[i], i);
        close(old[i]);
    }
    fclose(files[0]);
    take(files[1], out_text);
    take(files[2], err_text);
    return rc;
}

#define TALK(in, ...) talk_with(in, (const char *const[]){__VA_ARGS__, NULL})

static void expect_in(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("\"%s\" lacks \"%s\"", text, part);
}

static void expect_out(const char *wanted) {
    if (strcmp(out_text, wanted) != 0)
        fail_msg("found \"%s\", expected \"%s\"; notes: %s", out_text, wanted, err_text);
}

// The next "[ read N (HELD held) ... | CONTEXT/1024 ]" of the notes.
static const char *next_speed(const char *notes, int *n_read, int *n_held, int *context) {
    notes = strstr(notes, "[ read ");
    assert_non_null(notes);
    *n_held = 0;
    assert_true(sscanf(notes, "[ read %d (%d held)", n_read, n_held) >= 1);
    const char *end = strstr(notes, "/1024");
    assert_non_null(end);
    while (end[-1] >= '0' && end[-1] <= '9')
        end--;
    *context = atoi(end);
    return notes + 1;
}

// Every turn holds all that was there before it; what it reads is new.
static void expect_only_new(int n_turns) {
    const char *notes = err_text;
    int before = 0;
    for (int i = 0; i < n_turns; i++) {
        int n_read, n_held, context;
        notes = next_speed(notes, &n_read, &n_held, &context);
        assert_int_equal(n_held, before);
        assert_true(n_read > 0);
        before = context;
    }
}

static void expect_saved(const char *part) {
    static char text[TEXT_BYTES];
    FILE *file = fopen(saved, "r");
    assert_non_null(file);
    take(file, text);
    expect_in(text, part);
}

static void test_remembers(void **state) {
    (void)state;
    assert_int_equal(TALK("My name is Ada.\nWhat is 27 + 58?\n\nWhat is my name?\n", "-v"), 0);
    expect_out("Nice to meet you, Ada!\n27 + 58 = 85\nYour name is Ada.\n");
    expect_in(err_text, "7 + 8 = 15"); // reasoning is a note
    expect_only_new(3);
}

// Calls are put to whoever writes the input; the history stays as it was sampled.
static void test_tools(void **state) {
    (void)state;
    assert_int_equal(TALK(WEATHER "What is the weather in Oslo?\n"
                                  "{\"temperature\": 12, \"sky\": \"rain\"}\nThanks!\n",
                          "-v"),
                     0);
    expect_out("It is 12 degrees and rain.\nYou are welcome!\n");
    expect_in(err_text, "calls get_weather {\"city\": \"Oslo\"}");
    expect_only_new(3);
    // The input ends before the result: no answer, and the call is taken back.
    assert_int_equal(TALK(WEATHER "What is the weather in Oslo?\n", "-v"), 0);
    expect_out("");
    expect_in(err_text, "the call is taken back");
    // A command is no result; twice the slash makes it one.
    assert_int_equal(TALK(WEATHER "What is the weather in Oslo?\n/edit\n/clear now\n"
                                  "{\"temperature\": 12, \"sky\": \"rain\"}\n",
                          "-v"),
                     0);
    expect_out("It is 12 degrees and rain.\n");
    expect_in(err_text, "Ctrl-C takes the call back");
    char in[1024];
    snprintf(in, sizeof in, WEATHER "What is the weather in Oslo?\n//edit\n/save %s\n", saved);
    assert_int_equal(TALK(in, "-v"), 0);
    expect_saved("\"content\":\"/edit\"}");
}

static void test_lines(void **state) {
    (void)state;
    assert_int_equal(TALK("What is \\\n27 + 58?\n", "-q"), 0);
    expect_out("27 + 58 = 85\n");
    assert_int_equal(TALK("\"\"\"What is\n27 + 58?\"\"\"\n\"\"\"What is 12 + 30?\"\"\"\n", "-q"),
                     0);
    expect_out("27 + 58 = 85\n12 + 30 = 42\n");
    assert_int_equal(TALK("\"\"\"What is\n27 + 58?", "-q"), 0); // the input ends in it
    expect_out("27 + 58 = 85\n");
    assert_int_equal(TALK("/wat\n/\n", "-q"), 0);
    expect_in(err_text, "/wat is no command");
    expect_out("");
    assert_int_equal(TALK("//\n//exit\n", "-v", "-n", "4"), 0); // messages
    expect_in(err_text, "[ read ");
}

static void test_commands(void **state) {
    (void)state;
    assert_int_equal(
        TALK("/retry\n/edit\nWhat is 27 + 58?\n/retry\n/edit What is 12 + 30?\n/stats\n"
             "/help\n/exit\nWho are you?\n",
             "-v"),
        0);
    expect_out("27 + 58 = 85\n27 + 58 = 85\n12 + 30 = 42\n");
    expect_in(err_text, "there is no question yet");
    expect_in(err_text, "there is no message to edit yet");
    expect_in(err_text, "messages  2\n");
    expect_in(err_text, "/effort LEVEL");
    assert_int_equal(TALK("/effort huge\n/effort low\n/effort\n/system Speak briefly.\n/system\n"
                          "/system -\n/effort -\n",
                          "-v"),
                     0);
    expect_in(err_text, "effort: found \"huge\"");
    expect_in(err_text, "effort: low\neffort: low (");
    expect_in(err_text, "system message: Speak briefly.\nsystem message: Speak briefly.");
    expect_in(err_text, "system message: the template's default");
    assert_int_equal(TALK("/tools /nowhere.json\n/tools ../tools/setup.sh\n/tools\n", "-v"), 0);
    expect_in(err_text, "/nowhere.json");
    assert_null(strstr(err_text, "glint chat:"));
    expect_in(err_text, "../tools/setup.sh: tools: line 1"); // where the JSON fails
    expect_in(err_text, "tools: none");
    assert_int_equal(TALK("x\n", "--tools", "../tools/setup.sh"), GLINT_EXIT_FAILED);
    expect_in(err_text, "../tools/setup.sh: tools: line 1");
    assert_int_equal(TALK("/tools ../tools\n", "-v"), 0);
    expect_in(err_text, "found a folder");
    assert_int_equal(TALK("x\n", "--effort", "huge"), GLINT_EXIT_FAILED);
    assert_int_equal(TALK("x\n", "operand"), GLINT_EXIT_USAGE);
}

#define SEEN                                                                                       \
    "I see a brown circle at the top left, a blue diamond at the top and a purple triangle at "    \
    "the "                                                                                         \
    "bottom right.\n"

// By /image and by path in the text; another picture in its place is another conversation.
static void test_pictures(void **state) {
    (void)state;
    char in[2048];
    snprintf(in, sizeof in,
             "/image " SHAPES "\nWhat do you see?\n/clear\nDescribe " SHAPES ".\n"
             "/edit Describe \"" SHAPES
             "\"\nHow many shapes are there?\n/save %s\n/clear\n/load %s\n"
             "How many shapes are there?\n",
             saved, saved);
    assert_int_equal(TALK(in, "-v"), 0);
    expect_out(SEEN SEEN SEEN "There are three shapes.\nThere are three shapes.\n");
    expect_in(err_text, "picture " SHAPES ": 168 x 112 pixels, 24 tokens");
    expect_in(err_text, "4 messages from");
    assert_int_equal(TALK("Describe the picture.\n", "-q", "--image", SHAPES), 0);
    expect_out(SEEN);
    assert_int_equal(TALK("/image\n/image /nowhere.png\n/image CMakeLists.txt\n"
                          "What is 27 + 58?\n",
                          "-q"),
                     0);
    expect_in(err_text, "/image needs a file name");
    expect_in(err_text, "/nowhere.png");
    expect_in(err_text, "CMakeLists.txt: not a picture");
    expect_out("27 + 58 = 85\n");
    // Paths that are no pictures are text.
    assert_int_equal(TALK("Say CMakeLists.txt and nowhere.png\n", "-v", "-n", "4"), 0);
    assert_null(strstr(err_text, "picture "));
    assert_int_equal(TALK("x\n", "--image", "/nowhere.png"), GLINT_EXIT_FAILED);
}

// What is named like a picture and is none: told by /image, and text in a message.
static void test_no_picture_files(void **state) {
    (void)state;
    static const char refusal[] =
        "folder.png: expected a picture file, found a folder, pipe or device";
    char in[512], path[128];
    snprintf(path, sizeof path, "%s/folder.png", folder);
    snprintf(in, sizeof in, "/image %s\nSay %s\n/stats\n", path, path);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(i == 0 ? mkdir(path, 0700) : mkfifo(path, 0600), 0);
        alarm(60); // a pipe would wait for a writer
        assert_int_equal(TALK(in, "-q", "-n", "4"), 0);
        alarm(0);
        assert_int_equal(remove(path), 0);
        expect_in(err_text, refusal);
        assert_null(strstr(strstr(err_text, refusal) + 1, refusal));
        assert_null(strstr(err_text, "messages  0\n"));
    }
}

// A conversation too long for the context is refused, and the next one works.
static void test_full(void **state) {
    (void)state;
    char in[8192] = "What is the sum of";
    for (int i = 0; i < 1500; i++)
        strcat(in, " 9,"); // well under 8192 bytes
    strcat(in, "\n/clear\nWhat is 27 + 58?\n");
    assert_int_equal(TALK(in, "-q"), 0);
    expect_in(err_text, "over the context of 1024 tokens");
    expect_in(err_text, "/clear starts a new one");
    expect_out("27 + 58 = 85\n");
}

static void test_save_and_load(void **state) {
    (void)state;
    char in[1024];
    snprintf(in, sizeof in,
             WEATHER "My name is Ada.\nWhat is the weather in Oslo?\n12\n/effort medium\n/save %s\n"
                     "/clear\n/effort -\n/tools -\n/load %s\n/effort\n/tools\nWhat is my name?\n",
             saved, saved);
    assert_int_equal(TALK(in, "-v"), 0);
    expect_in(out_text, "Your name is Ada.\n");
    expect_in(err_text, "saved 6 messages to");
    expect_in(err_text, "6 messages from");
    expect_in(err_text, "effort: medium");
    expect_in(err_text, "Get the weather of a city.");
    assert_int_equal(TALK("/save\n/load\n/save /nowhere/x.json\n/load /nowhere/x.json\n", "-v"), 0);
    expect_in(err_text, "/save needs a file name");
    expect_in(err_text, "/load needs a file name");
    expect_in(err_text, "/nowhere/x.json.part: cannot create");
    assert_true(strstr(err_text, "/nowhere/x.json: ") != NULL);
}

// A save that finds no room leaves the one before; the model is no place for one.
static void test_save_fails(void **state) {
    (void)state;
    char in[512], large[128];
    struct stat info;
    snprintf(in, sizeof in, "My name is Ada.\n/save %s\n", saved);
    assert_int_equal(TALK(in, "-q"), 0);
    assert_int_equal(stat(saved, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    snprintf(large, sizeof large, "%s/large.json", folder);
    FILE *file = fopen(large, "w");
    assert_non_null(file);
    fprintf(file, "[{\"role\":\"user\",\"content\":\"%4000s\"}]", "x");
    assert_int_equal(fclose(file), 0);
    snprintf(in, sizeof in, "/load %s\n/save %s\n/save ../models/glimmer-mini.gguf\n", large,
             saved);
    struct rlimit full, old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    full = (struct rlimit){.rlim_cur = 2048, .rlim_max = old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    int rc = TALK(in, "-q");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    unlink(large);
    assert_int_equal(rc, 0);
    expect_in(err_text, "cannot write");
    expect_in(err_text, "glimmer-mini.gguf: is the input file");
    expect_saved("Nice to meet you, Ada!");
}

// Files that are no conversation leave the one there is as it was.
static void test_bad_files(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"[", "line 1"},
        {"{}", "messages: expected a list, found nothing"},
        {"[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"robot\"}]", "messages[1].role"},
        {"[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"system\"}]", "messages[1].role"},
        {"[5]", "messages[0].role"},
        {"{\"effort\":\"huge\",\"messages\":[]}", "effort: found \"huge\""},
        {"{\"effort\":3,\"messages\":[]}", "effort: expected a string, found"},
        {"{\"tools\":[{\"name\":\"a b\"}],\"messages\":[]}", "tools[0].name"},
        {"[{\"role\":\"tool\",\"tool_call_id\":\"none\",\"content\":\"x\"}]",
         "messages[0].tool_call_id"},
        {"[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":"
         "\"[1]\"}}]}]",
         "messages[0].tool_calls[0].function.arguments"},
        {"[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":\"x\"}]}]",
         "messages[0].content: expected pictures as"},
        {"[{\"role\":\"user\",\"content\":[{\"type\":\"video\",\"text\":\"x\"}]}]",
         "messages[0].content: expected pictures as"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char in[512];
        FILE *file = fopen(saved, "w");
        assert_non_null(file);
        fputs(cases[i].text, file);
        fclose(file);
        snprintf(in, sizeof in, "My name is Ada.\n/load %s\n/stats\n", saved);
        assert_int_equal(TALK(in, "-v"), 0);
        expect_in(err_text, cases[i].words);
        expect_in(err_text, "messages  2\n");
    }
}

// Another draw for every answer, and the same ones for the same seed.
static void test_seed(void **state) {
    (void)state;
    static char first[TEXT_BYTES];
    const char *in = "Tell me about animals.\n/retry\n/retry\n/retry\n";
    assert_int_equal(TALK(in, "-q", "--temp", "1.5", "--seed", "7"), 0);
    memcpy(first, out_text, sizeof first);
    assert_int_equal(TALK(in, "-q", "--temp", "1.5", "--seed", "7", "-t", "1"), 0);
    expect_out(first);
    size_t n = strcspn(first, "\n") + 1;
    assert_int_not_equal(strncmp(first, first + n, n), 0); // greedy would repeat itself
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remembers),
        cmocka_unit_test(test_tools),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_save_and_load),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_save_fails),
        cmocka_unit_test(test_no_picture_files),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
