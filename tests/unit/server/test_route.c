// SPDX-License-Identifier: Apache-2.0
// test_route.c — paths with and without /v1, methods, what follows.
#include "server/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static struct glint_route_found find_at(enum glint_protocol door, const char *method,
                                        const char *path) {
    static char copy[1000];
    snprintf(copy, sizeof copy, "%s", path);
    return glint_route_find(door, method, copy);
}

static struct glint_route_found find(const char *method, const char *path) {
    return find_at(GLINT_PROTOCOL_OPENAI, method, path);
}

static void expect(const char *method, const char *path, const char *row, const char *rest) {
    struct glint_route_found found = find(method, path);
    assert_non_null(found.route);
    assert_false(found.wrong_method);
    assert_string_equal(found.route->path, row);
    assert_string_equal(found.rest, rest);
}

static void test_found(void **state) {
    (void)state;
    expect("POST", "/v1/chat/completions", "/v1/chat/completions", "");
    expect("POST", "/chat/completions", "/v1/chat/completions", "");
    expect("POST", "/chat/completions///", "/v1/chat/completions", "");
    expect("GET", "/health", "/health", "");
    expect("GET", "/v1/health", "/health", "");
    expect("HEAD", "/health", "/health", "");
    expect("GET", "/v1/models", "/v1/models", "");
    expect("GET", "/v1/models/a/b:c", "/v1/models/*", "a/b:c");
    expect("GET", "/models/a/b:c", "/v1/models/*", "a/b:c");
    expect("POST", "/messages/count_tokens", "/v1/messages/count_tokens", "");
    expect("GET", "/", "/", "");
    expect("GET", "//", "/", "");
    expect("GET", "/page/main.js", "/page/*", "main.js");
    assert_true(find("GET", "/v1/messages").wrong_method);
    assert_string_equal(find("PUT", "/health").route->method, "GET");
}

static void test_ollama(void **state) {
    (void)state;
    assert_string_equal(find_at(GLINT_PROTOCOL_OLLAMA, "HEAD", "/").route->path, "/");
    assert_string_equal(find_at(GLINT_PROTOCOL_OLLAMA, "GET", "/api/tags/").route->path,
                        "/api/tags");
    assert_string_equal(find_at(GLINT_PROTOCOL_OLLAMA, "POST", "/api/blobs/sha256:1").rest,
                        "sha256:1");
    assert_string_equal(find_at(GLINT_PROTOCOL_OLLAMA, "GET", "/v1/models").route->path,
                        "/v1/models");
    assert_true(find_at(GLINT_PROTOCOL_OLLAMA, "GET", "/api/pull").wrong_method);
    assert_null(find_at(GLINT_PROTOCOL_OLLAMA, "GET", "/v1/api/tags").route);
    assert_null(find("GET", "/api/tags").route);
}

static void test_not_found(void **state) {
    static const char *const paths[] = {"",       "/v1",           "/v1/",      "/v2/health",
                                        "/page/", "/pages",        "/healthy",  "/health/x",
                                        "health", "/v1/v1/health", "/V1/health"};
    char deep[900];
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_null(find("GET", paths[i]).route);
    memset(deep, 'a', sizeof deep);
    deep[0] = '/';
    deep[sizeof deep - 1] = 0;
    assert_null(find("GET", deep).route);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found), cmocka_unit_test(test_ollama),
                                       cmocka_unit_test(test_not_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
