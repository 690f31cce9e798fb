// SPDX-License-Identifier: Apache-2.0
// test_cmd_chat.c — `glint template` and `glint parse` as a user runs them, on a file without a
// template of its own: the fixtures' prompts and messages, and mistakes by name.
#include "chat_cases.h"
#include "cmd.h"
#include "format/json_write.h"
#include "options.h"
#include "toy_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    char folder[64], model[96], messages[96], tools[96], vars[96];
    FILE *in, *out, *err;
} t;

static int setup(void **state) {
    (void)state;
    snprintf(t.folder, sizeof t.folder, "/tmp/glint_chat_XXXXXX");
    assert_non_null(mkdtemp(t.folder));
    snprintf(t.model, sizeof t.model, "%s/m.gguf", t.folder);
    snprintf(t.messages, sizeof t.messages, "%s/messages.json", t.folder);
    snprintf(t.tools, sizeof t.tools, "%s/tools.json", t.folder);
    snprintf(t.vars, sizeof t.vars, "%s/vars.json", t.folder);
    toy_model_write(t.model, NULL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    unlink(t.model);
    unlink(t.messages);
    unlink(t.tools);
    unlink(t.vars);
    return rmdir(t.folder);
}

// Runs a command between temporary files; leaves t.out and t.err rewound.
static int run(int (*command)(int argc, char **argv), const char *const *argv, const char *in,
               size_t n) {
    int saved[3];
    int argc = 0;
    FILE **files[3] = {&t.in, &t.out, &t.err};
    while (argv[argc])
        argc++;
    fflush(NULL);
    for (int i = 0; i < 3; i++) {
        *files[i] = tmpfile();
        assert_non_null(*files[i]);
        saved[i] = dup(i);
    }
    assert_int_equal(fwrite(in, 1, n, t.in), n);
    rewind(t.in);
    for (int i = 0; i < 3; i++)
        dup2(fileno(*files[i]), i);
    rewind(stdin); // forgets what was buffered of the input before
    int rc = command(argc, (char **)(uintptr_t)argv);
    fflush(NULL);
    for (int i = 0; i < 3; i++) {
        dup2(saved[i], i);
        close(saved[i]);
        rewind(*files[i]);
    }
    return rc;
}

static struct glint_buffer take(FILE *file) {
    struct glint_buffer text = {.data = NULL};
    char block[4096];
    size_t n;
    glint_buffer_append_text(&text, "");
    while ((n = fread(block, 1, sizeof block, file)) != 0)
        glint_buffer_append(&text, block, n);
    return text;
}

static void done(void) {
    fclose(t.in);
    fclose(t.out);
    fclose(t.err);
}

static void write_file(const char *path, const char *data, size_t n) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void write_json(const char *path, const struct glint_json *value) {
    struct glint_buffer text = {.data = NULL};
    glint_json_put_value(&text, value, GLINT_JSON_COMPACT);
    write_file(path, text.data, text.n);
    glint_buffer_fini(&text);
}

static void render_case(const struct glint_json *c) {
    const struct glint_json *options = glint_json_get(c, "options");
    const struct glint_json *tools = glint_json_get(c, "tools");
    struct glint_view date = {.data = "none", .n = 4};
    bool generate = true;
    glint_json_to_string(glint_json_get(options, "strftime_now"), &date);
    glint_json_to_bool(glint_json_get(options, "add_generation_prompt"), &generate);
    const char *argv[16] = {"template", "-m",   t.model,  "--messages", t.messages,
                            "--vars",   t.vars, "--date", date.data};
    int n = 9;
    write_json(t.messages, glint_json_get(c, "messages"));
    struct glint_buffer vars = {.data = NULL};
    struct glint_json_writer writer = {.out = &vars, .style = GLINT_JSON_COMPACT};
    glint_json_begin_object(&writer);
    for (const struct glint_json *m = glint_json_first(options); m; m = m->next) {
        if (glint_view_is(m->key, "strftime_now"))
            continue;
        glint_json_key_view(&writer, m->key);
        glint_json_value(&writer, m);
    }
    glint_json_end_object(&writer);
    write_file(t.vars, vars.data, vars.n);
    glint_buffer_fini(&vars);
    if (tools && tools->kind != GLINT_JSON_NULL) {
        write_json(t.tools, tools);
        argv[n++] = "--tools";
        argv[n++] = t.tools;
    }
    if (!generate)
        argv[n++] = "--no-generation-prompt";
    int rc = run(glint_cmd_template, argv, "", 0);
    struct glint_buffer out = take(t.out);
    struct glint_buffer err = take(t.err);
    bool other = glint_json_get(c, "rendered_hub") != NULL;
    struct glint_view wanted = case_text(c, other ? "rendered_hub" : "rendered");
    if (rc != GLINT_EXIT_OK || !glint_view_equal(wanted, (struct glint_view){out.data, out.n}))
        fail_msg("%s: %d %s\n%s", case_text(c, "id").data, rc, err.data, out.data);
    glint_buffer_fini(&out);
    glint_buffer_fini(&err);
    done();
}

static void template_renders_golden(void **state) {
    (void)state;
    struct chat_cases cases = chat_cases_open("fixtures/chat/golden.jsonl");
    int n = 0;
    for (const struct glint_json *c; (c = chat_cases_next(&cases)) != NULL; n++)
        render_case(c);
    assert_int_equal(n, 101);
}

static void expect(int rc, int wanted, const char *out, const char *err) {
    struct glint_buffer found_out = take(t.out);
    struct glint_buffer found_err = take(t.err);
    if (rc != wanted || (out && strcmp(found_out.data, out) != 0) ||
        !strstr(found_err.data, err ? err : ""))
        fail_msg("status %d, out \"%s\", err \"%s\"", rc, found_out.data, found_err.data);
    glint_buffer_fini(&found_out);
    glint_buffer_fini(&found_err);
    done();
}

static void template_refuses(void **state) {
    (void)state;
    const char *api[] = {"template", "-m", t.model, "--messages", t.messages,
                         "--api",    NULL, NULL,    NULL};
    static const char robot[] = "[{\"role\": \"user\"}, {\"role\": \"robot\"}]";
    write_file(t.messages, robot, sizeof robot - 1);
    expect(run(glint_cmd_template, api, "", 0), GLINT_EXIT_FAILED, "", "messages[1].role");
    write_file(t.messages, "[]", 2);
    api[6] = "--effort";
    api[7] = "extreme";
    expect(run(glint_cmd_template, api, "", 0), GLINT_EXIT_FAILED, "", "effort: found \"extreme\"");
    write_file(t.messages, "[", 1);
    expect(run(glint_cmd_template, api, "", 0), GLINT_EXIT_FAILED, "", "messages");
    api[3] = NULL;
    expect(run(glint_cmd_template, api, "", 0), GLINT_EXIT_USAGE, "", "needs -m MODEL");
}

static void parse_prints(void **state) {
    (void)state;
    static const char output[] =
        " to=self<|message|>Hm.<|eom|><|start|>assistant to=f<|message|><atem:invoke name=\"f\">"
        "<atem:parameter name=\"n\">12345678901234567890123</atem:parameter></atem:invoke><|eot|>";
    static const char tools[] = "[{\"name\": \"f\"}]";
    write_file(t.tools, tools, sizeof tools - 1);
    const char *argv[] = {"parse", "-m", t.model, "--tools", t.tools, NULL, NULL, NULL};
    expect(run(glint_cmd_parse, argv, output, sizeof output - 1), GLINT_EXIT_OK,
           "{\"reasoning\":\"Hm.\",\"content\":\"\",\"tool_calls\":[{\"name\":\"f\","
           "\"arguments\":{\"n\": 12345678901234567890123}}],\"finish_reason\":"
           "\"tool_calls\"}\n",
           NULL);
    argv[5] = "--stream";
    expect(run(glint_cmd_parse, argv, output, sizeof output - 1), GLINT_EXIT_OK,
           "{\"reasoning\":\"Hm.\"}\n{\"tool_call\":{\"index\":0,\"name\":\"f\"}}\n"
           "{\"tool_call\":{\"index\":0,\"arguments\":\"{\\\"n\\\": "
           "12345678901234567890123}\"}}\n{\"finish_reason\":\"tool_calls\"}\n",
           NULL);
    const char *cut[] = {"parse", "-m", t.model, "--channel", "user", "--end", "length", NULL};
    expect(run(glint_cmd_parse, cut, "half a s", 8), GLINT_EXIT_OK,
           "{\"reasoning\":\"\",\"content\":\"half a s\",\"tool_calls\":[],"
           "\"finish_reason\":\"length\"}\n",
           NULL);
    cut[6] = "sometime";
    expect(run(glint_cmd_parse, cut, "", 0), GLINT_EXIT_USAGE, "", "--end: found sometime");
    cut[6] = "eog";
    expect(run(glint_cmd_parse, cut, "", 0), GLINT_EXIT_OK,
           "{\"reasoning\":\"\",\"content\":\"\",\"tool_calls\":[],\"finish_reason\":"
           "\"stop\"}\n",
           NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(template_renders_golden),
        cmocka_unit_test(template_refuses),
        cmocka_unit_test(parse_prints),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
