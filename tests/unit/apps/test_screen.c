// SPDX-License-Identifier: Apache-2.0
// test_screen.c — text to a terminal (a pseudo one): what is shown instead of control characters,
// in which colours, in a locale without UTF-8, and where lines break. Elsewhere bytes pass.
#define _XOPEN_SOURCE 700 // pseudo terminals
#include "terminal.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

enum { LAST = 1 }; // marks the end of what a test wrote

static int master;
static FILE *screen;

static int open_screen(void **state) {
    struct winsize size = {.ws_row = 24, .ws_col = 20};
    struct termios modes;
    (void)state;
    master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    assert_int_equal(tcgetattr(slave, &modes), 0);
    modes.c_oflag &= ~(tcflag_t)OPOST; // line ends as they are written
    assert_int_equal(tcsetattr(slave, TCSANOW, &modes), 0);
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    screen = fdopen(slave, "w");
    assert_non_null(screen);
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("NO_COLOR");
    return 0;
}

static int close_screen(void **state) {
    (void)state;
    fclose(screen);
    close(master);
    return 0;
}

// Puts a text, in pieces of n_piece bytes that end where characters do, in a style.
static void expect(const char *text, size_t n_piece, enum glint_style style, const char *shown) {
    struct glint_terminal terminal;
    char found[1024];
    glint_terminal_init(&terminal, screen);
    glint_terminal_style(&terminal, style);
    size_t n = strlen(text);
    for (size_t at = 0; at < n;) {
        size_t length = n_piece;
        while (at + length < n && (text[at + length] & 0xc0) == 0x80)
            length++;
        length = at + length < n ? length : n - at;
        glint_terminal_put(&terminal, text + at, length);
        at += length;
    }
    if (style != GLINT_STYLE_PLAIN)
        glint_terminal_style(&terminal, GLINT_STYLE_PLAIN);
    glint_terminal_end_line(&terminal);
    fputc(LAST, screen); // a read may give a part
    fflush(screen);
    size_t n_found = 0;
    do {
        assert_true(n_found < sizeof found);
        assert_int_equal(read(master, found + n_found, 1), 1);
    } while (found[n_found++] != LAST);
    found[n_found - 1] = 0;
    if (strcmp(found, shown) != 0)
        fail_msg("\"%s\": found \"%s\", expected \"%s\"", text, found, shown);
}

static void test_controls(void **state) {
    (void)state;
    for (size_t n_piece = 1; n_piece < 30; n_piece += 7) {
        expect("a\033[2Jb\a", n_piece, GLINT_STYLE_PLAIN, "\033[0ma^[[2Jb^G\n");
        expect("x\r\x7f", n_piece, GLINT_STYLE_PLAIN, "\033[0mx^M^?\n");
        expect("\xc2\x9b"
               "1m",
               n_piece, GLINT_STYLE_PLAIN, "\033[0m<U+009B>1m\n");
        expect("\xe2\x80\xae"
               "abc",
               n_piece, GLINT_STYLE_PLAIN, "\033[0m<U+202E>abc\n");
        expect("t\tab\n", n_piece, GLINT_STYLE_PLAIN, "\033[0mt\tab\n");
        expect("gr\xc3\xbc\xc3\x9f \xf0\x9f\x99\x82", n_piece, GLINT_STYLE_PLAIN,
               "\033[0mgr\xc3\xbc\xc3\x9f \xf0\x9f\x99\x82\n");
    }
}

static void test_colours(void **state) {
    (void)state;
    expect("dim", 9, GLINT_STYLE_DIM, "\033[2mdim\033[0m\n");
    setenv("NO_COLOR", "1", 1);
    expect("plain", 9, GLINT_STYLE_DIM, "plain\n");
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    expect("dumb", 9, GLINT_STYLE_DIM, "dumb\n");
    expect("a line that is longer than twenty cells", 9, GLINT_STYLE_DIM,
           "a line that is longer than twenty cells\n");
    setenv("TERM", "xterm", 1);
}

static void test_ascii(void **state) {
    (void)state;
    setenv("LC_ALL", "C", 1);
    expect("gr\xc3\xbc\xc3\x9f \xe2\x82\xac\033", 9, GLINT_STYLE_DIM, "\033[2mgr?? ?^[\033[0m\n");
    setenv("LC_ALL", "C.UTF-8", 1);
}

static void test_wrap(void **state) {
    (void)state;
    static const char text[] = "one two three four five six seven\nsome_word_of_26_characters end";
    for (size_t n_piece = 1; n_piece < 60; n_piece += 11)
        expect(text, n_piece, GLINT_STYLE_PLAIN,
               "\033[0mone two three four \nfive six seven\nsome_word_of_26_characters end\n");
    // Wide characters take two cells each.
    expect("aaaa \xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad "
           "\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad",
           99, GLINT_STYLE_PLAIN,
           "\033[0maaaa \xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad "
           "\xe4\xb8\xad\xe4\xb8\xad\n\xe4\xb8\xad\n");
}

static void test_pipe(void **state) {
    (void)state;
    struct glint_terminal terminal;
    char found[64];
    FILE *file = tmpfile();
    assert_non_null(file);
    glint_terminal_init(&terminal, file);
    glint_terminal_style(&terminal, GLINT_STYLE_BOLD);
    glint_terminal_put(&terminal, "a\033[2J\0\xc3\xbc", 8);
    glint_terminal_end_line(&terminal);
    rewind(file);
    assert_int_equal(fread(found, 1, sizeof found, file), 9);
    assert_memory_equal(found, "a\033[2J\0\xc3\xbc\n", 9);
    fclose(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_controls), cmocka_unit_test(test_colours),
        cmocka_unit_test(test_ascii),    cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_pipe),
    };
    return cmocka_run_group_tests(tests, open_screen, close_screen);
}
