// SPDX-License-Identifier: Apache-2.0
// test_template.c — the template language beside Jinja2: fixtures/template/jinja_cases.jsonl holds
// what Jinja2 makes of each template, and where it fails we must fail too. Then provenance.
#include "chat_cases.h"
#include "prompt/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct rendered {
    enum glint_status status;
    struct glint_error err;
    struct glint_heap heap;
    struct glint_sink sink;
};

static void rendered_fini(struct rendered *r) {
    glint_heap_fini(&r->heap);
    glint_sink_fini(&r->sink);
}

static struct rendered render(struct glint_view source, const struct glint_json *context) {
    struct rendered r = {.status = GLINT_OK};
    struct glint_value variables;
    struct glint_template *t = NULL;
    assert_true(glint_value_from_json(&r.heap, context, GLINT_ORIGIN_CALLER, &variables));
    struct glint_template_input input = {.variables = variables.as.dict,
                                         .clock = {.present = true,
                                                   .year = 2026,
                                                   .month = 8,
                                                   .day = 10,
                                                   .hour = 9,
                                                   .minute = 5,
                                                   .second = 3}};
    r.status = glint_template_open(&t, source, &r.err);
    if (r.status == GLINT_OK)
        r.status = glint_template_render(t, &input, &r.heap, &r.sink, &r.err);
    glint_template_close(&t);
    return r;
}

static void same_as_jinja(void **state) {
    (void)state;
    struct chat_cases cases = chat_cases_open("fixtures/template/jinja_cases.jsonl");
    struct glint_buffer first = {.data = NULL};
    struct glint_json_doc *doc = NULL;
    int n = 0;
    int n_wrong = 0;
    assert_non_null(chat_cases_next(&cases)); // the context
    glint_buffer_append(&first, cases.text.data, cases.at);
    assert_int_equal(glint_json_parse(&doc, (struct glint_view){first.data, first.n}, NULL, NULL),
                     GLINT_OK);
    const struct glint_json *context = glint_json_get(glint_json_root(doc), "context");
    for (const struct glint_json *c; (c = chat_cases_next(&cases)) != NULL; n++) {
        struct rendered r = render(case_text(c, "template"), context);
        const struct glint_json *wanted = glint_json_get(c, "rendered");
        struct glint_view found = {.data = r.sink.bytes.data ? r.sink.bytes.data : "",
                                   .n = r.sink.bytes.n};
        if (!wanted ? r.status == GLINT_OK
                    : r.status != GLINT_OK || !glint_view_equal(found, wanted->text)) {
            print_error("%s\n   found    %s\n   expected %s\n", case_text(c, "template").data,
                        r.status == GLINT_OK ? found.data : r.err.text,
                        wanted ? wanted->text.data : case_text(c, "error").data);
            n_wrong++;
        }
        rendered_fini(&r);
    }
    assert_int_equal(n_wrong, 0);
    assert_true(n > 1500);
    glint_json_close(&doc);
    glint_buffer_fini(&first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_jinja),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
