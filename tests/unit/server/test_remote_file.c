// SPDX-License-Identifier: Apache-2.0
// test_remote_file.c — fetching from a small server of our own, on 127.0.0.1; 127.0.0.2 plays the
// address that must not be asked.
#define _POSIX_C_SOURCE 200809L
#include "base/buffer.h"
#include "server/remote_file.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int listener, port;
static int n_asked; // of the cancel callback

// ---- the other server -------------------------------------------------------------------------

static void send_text(int fd, const char *text) {
    send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void redirect(int fd, const char *target) {
    char text[300];
    snprintf(text, sizeof text,
             "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
             target);
    send_text(fd, text);
}

// An answer without a length, longer than anybody takes.
static void send_endless(int fd) {
    static char block[1 << 16];
    send_text(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    while (send(fd, block, sizeof block, MSG_NOSIGNAL) > 0)
        continue;
}

static void answer(int fd, const char *path) {
    char other[100], rest[100];
    snprintf(other, sizeof other, "http://127.0.0.2:%d/ok", port);
    if (strcmp(path, "/ok") == 0)
        send_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
    else if (strcmp(path, "/near") == 0)
        redirect(fd, "/ok");
    else if (strcmp(path, "/far") == 0)
        redirect(fd, other);
    else if (strcmp(path, "/loop") == 0)
        redirect(fd, "/loop");
    else if (strcmp(path, "/file") == 0)
        redirect(fd, "file:///etc/passwd");
    else if (strcmp(path, "/large") == 0)
        send_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n");
    else if (strcmp(path, "/endless") == 0)
        send_endless(fd);
    else if (strcmp(path, "/stall") == 0)
        while (read(fd, rest, sizeof rest) > 0) // until the client has had enough
            continue;
    else
        send_text(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

static void *serve(void *user) {
    (void)user;
    for (;;) {
        char head[4096], path[100] = "";
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            return NULL;
        ssize_t n = read(fd, head, sizeof head - 1);
        head[n > 0 ? n : 0] = 0;
        bool quit = sscanf(head, "GET %99s", path) == 1 && strcmp(path, "/quit") == 0;
        if (!quit && path[0])
            answer(fd, path);
        close(fd);
        if (quit)
            return NULL;
    }
}

// ---- fetching ---------------------------------------------------------------------------------

static bool is_first(const struct sockaddr *address) {
    struct sockaddr_in in;
    memcpy(&in, address, sizeof in);
    return address->sa_family == AF_INET && in.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

static bool cancel_soon(void *user) {
    (void)user;
    return ++n_asked > 2;
}

static enum glint_status fetch(const char *path, struct glint_remote_request request,
                               struct glint_buffer *out, struct glint_error *error) {
    char url[200];
    if (path[0] == '/')
        snprintf(url, sizeof url, "http://127.0.0.1:%d%s", port, path);
    else
        snprintf(url, sizeof url, "%s", path);
    request.url = url;
    request.name = "p";
    glint_buffer_clear(out);
    return glint_remote_fetch(out, &request, error);
}

static void expect(const char *path, enum glint_status expected, const char *says) {
    struct glint_buffer out = {.data = NULL};
    struct glint_error error = {.status = GLINT_OK};
    enum glint_status status =
        fetch(path, (struct glint_remote_request){.is_allowed = is_first}, &out, &error);
    if (status != expected || !strstr(error.text, says))
        fail_msg("%s: found %s \"%s\"", path, glint_status_name(status), error.text);
    if (expected == GLINT_OK)
        assert_memory_equal(out.data, "hello", 6);
    glint_buffer_fini(&out);
}

static void test_answers(void **state) {
    (void)state;
    expect("/ok", GLINT_OK, "");
    expect("/near", GLINT_OK, "");
    expect("/far", GLINT_E_ARG, "not public");
    expect("/loop", GLINT_E_FORMAT, "redirects");
    expect("/file", GLINT_E_FORMAT, "");
    expect("/none", GLINT_E_FORMAT, "404");
    expect("/large", GLINT_E_LIMIT, "over the limit");
    expect("/endless", GLINT_E_LIMIT, "over the limit");
}

static void test_addresses(void **state) {
    (void)state;
    expect("http://127.0.0.2:1/", GLINT_E_ARG, "not public");
    expect("file:///etc/passwd", GLINT_E_FORMAT, "");
    expect("gopher://127.0.0.1/", GLINT_E_FORMAT, "");
    expect("http://", GLINT_E_FORMAT, "");
    struct glint_buffer out = {.data = NULL};
    struct glint_error error = {.status = GLINT_OK};
    struct glint_remote_request strict = {.is_allowed = glint_address_is_public};
    assert_int_equal(fetch("/ok", strict, &out, &error), GLINT_E_ARG);
    assert_int_equal(out.n, 0);
    struct glint_remote_request any = {.is_allowed = NULL};
    assert_int_equal(fetch("/ok", any, &out, &error), GLINT_OK);
    glint_buffer_fini(&out);
}

static void test_cancel(void **state) {
    (void)state;
    struct glint_buffer out = {.data = NULL};
    struct glint_error error = {.status = GLINT_OK};
    struct glint_remote_request request = {.is_allowed = is_first, .cancel = cancel_soon};
    assert_int_equal(fetch("/stall", request, &out, &error), GLINT_E_CANCELLED);
    glint_buffer_fini(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_cancel),
    };
    struct glint_error error = {.status = GLINT_OK};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof in;
    pthread_t thread;
    if (glint_remote_init(&error) == GLINT_E_UNSUPPORTED)
        return 0; // built without libcurl
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&in, sizeof in) != 0 ||
        listen(listener, 16) != 0 || getsockname(listener, (struct sockaddr *)&in, &size) != 0 ||
        pthread_create(&thread, NULL, serve, NULL) != 0)
        return 1;
    port = ntohs(in.sin_port);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    struct glint_buffer out = {.data = NULL};
    fetch("/quit", (struct glint_remote_request){.is_allowed = NULL}, &out, &error);
    glint_buffer_fini(&out);
    pthread_join(thread, NULL);
    close(listener);
    return failed;
}
