// SPDX-License-Identifier: Apache-2.0
// test_item_list.c — lists of items, sealed reasoning, names of tools.
#include "server/item_list.h"
#include "server/tool_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_list(void **state) {
    (void)state;
    struct glint_items items = {.n = 0};
    struct glint_buffer out = {.data = NULL};
    struct glint_item item;
    size_t at = 0;
    assert_false(glint_items_next(&items, &at, &item));
    glint_items_put(&items, &out);
    assert_int_equal(out.n, 0);
    glint_items_add(&items, glint_view_of("a"), glint_view_of("{\"x\":1}"));
    glint_items_add(&items, glint_view_of(""), glint_view_of("2"));
    glint_items_add(&items, glint_view_of("a"), glint_view_of("[]"));
    assert_int_equal(items.n, 3);
    glint_items_put(&items, &out);
    assert_string_equal(out.data, "{\"x\":1},2,[]");
    assert_true(glint_items_next(&items, &at, &item));
    assert_string_equal(item.id.data, "a");
    assert_string_equal(item.json.data, "{\"x\":1}");
    assert_true(glint_items_next(&items, &at, &item));
    assert_int_equal(item.id.n, 0);
    assert_true(glint_items_next(&items, &at, &item));
    assert_string_equal(item.json.data, "[]");
    assert_false(glint_items_next(&items, &at, &item));
    glint_buffer_fini(&out);
    glint_items_fini(&items);
}

static void test_seal(void **state) {
    (void)state;
    static const char text[] = "47 + 38 = 85 \xe2\x82\xac\n";
    struct glint_buffer sealed = {.data = NULL}, out = {.data = NULL};
    for (size_t n = 0; n < sizeof text - 1; n++) {
        bool whole = n != 14 && n != 15; // not inside the euro sign
        glint_buffer_clear(&sealed);
        glint_buffer_clear(&out);
        glint_buffer_append_text(&out, "kept ");
        glint_items_seal(&sealed, (struct glint_view){text, n});
        struct glint_view view = {sealed.data, sealed.n};
        assert_int_equal(glint_items_unseal(&out, view), whole);
        assert_int_equal(out.n, 5 + (whole ? n : 0));
        assert_memory_equal(out.data + 5, text, out.n - 5);
    }
    static const char *const wrong[] = {
        "", "glint1", "gAAAAABo", "glint1:*", "glint1:Zm9vY", "glint1:/w==", " glint1:Zm9v"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        glint_buffer_clear(&out);
        assert_false(glint_items_unseal(&out, glint_view_of(wrong[i])));
        assert_int_equal(out.n, 0);
    }
    glint_buffer_fini(&sealed);
    glint_buffer_fini(&out);
}

static void test_tool_names(void **state) {
    (void)state;
    static const char tools[] =
        "[{\"type\":\"function\",\"name\":\"flat\"},{\"type\":\"function\",\"function\":{\"name\":"
        "\"nested\"}},{\"type\":\"web_search\",\"name\":\"no\"},{\"name\":\"no\"},"
        "{\"type\":\"function\",\"name\":\"\"},{\"type\":\"function\",\"name\":5},7]";
    static const char some[] =
        "[{\"type\":\"function\",\"name\":\"nested\"},{\"type\":\"function\"}]";
    struct glint_json_doc *all, *allowed;
    struct glint_buffer out = {.data = NULL};
    assert_int_equal(glint_json_parse(&all, glint_view_of(tools), NULL, NULL), GLINT_OK);
    assert_int_equal(glint_json_parse(&allowed, glint_view_of(some), NULL, NULL), GLINT_OK);
    const struct glint_json *list = glint_json_root(all);
    assert_true(glint_tool_is_in(list, glint_view_of("flat")));
    assert_true(glint_tool_is_in(list, glint_view_of("nested")));
    assert_false(glint_tool_is_in(list, glint_view_of("no")));
    assert_false(glint_tool_is_in(list, glint_view_of("")));
    assert_false(glint_tool_is_in(NULL, glint_view_of("flat")));
    assert_false(glint_tools_put_allowed(&out, list, NULL));
    assert_int_equal(out.n, 0);
    assert_true(glint_tools_put_allowed(&out, list, glint_json_root(allowed)));
    assert_string_equal(out.data, "[{\"type\":\"function\",\"function\":{\"name\":\"nested\"}}]");
    glint_buffer_fini(&out);
    glint_json_close(&all);
    glint_json_close(&allowed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_seal),
        cmocka_unit_test(test_tool_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
