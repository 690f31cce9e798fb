// SPDX-License-Identifier: Apache-2.0
// terminal.c — what a stream can show, and writing to it.
#define _XOPEN_SOURCE 700 // wcwidth
#include "terminal.h"

#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum { NO_CELLS = -1 };

static bool env_is_set(const char *name) {
    const char *value = getenv(name);
    return value && value[0];
}

static void set_locale(void) {
    bool told = env_is_set("LC_ALL") || env_is_set("LC_CTYPE") || env_is_set("LANG");
    setlocale(LC_CTYPE, told ? "" : "C.UTF-8");
}

void glint_terminal_init(struct glint_terminal *terminal, FILE *file) {
    const char *kind = getenv("TERM");
    bool dumb = !kind || strcmp(kind, "dumb") == 0;
    set_locale();
    *terminal = (struct glint_terminal){.file = file};
    terminal->is_terminal = isatty(fileno(file)) == 1;
    terminal->colour = terminal->is_terminal && !dumb && !env_is_set("NO_COLOR");
    terminal->wrap = terminal->is_terminal && !dumb;
    terminal->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

int glint_terminal_width(const struct glint_terminal *terminal) {
    struct winsize size;
    bool known = ioctl(fileno(terminal->file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

static void write_word(struct glint_terminal *terminal) {
    if (terminal->n_word == 0)
        return;
    if (terminal->wrap && terminal->column > 0 &&
        terminal->column + terminal->word_cells > glint_terminal_width(terminal)) {
        fputc('\n', terminal->file);
        terminal->column = 0;
    }
    fwrite(terminal->word, 1, terminal->n_word, terminal->file);
    int width = terminal->wrap ? glint_terminal_width(terminal) : INT_MAX;
    terminal->column += terminal->word_cells;
    if (terminal->column > width) // the terminal breaks a word longer than a line
        terminal->column = (terminal->column - 1) % width + 1;
    terminal->n_word = 0;
    terminal->word_cells = 0;
    terminal->line_open = true;
}

void glint_terminal_style(struct glint_terminal *terminal, enum glint_style style) {
    static const char *const codes[] = {"\033[0m", "\033[2m", "\033[1m"};
    if (!terminal->colour)
        return;
    write_word(terminal);
    fputs(codes[style], terminal->file);
}

// The character at text (n > 0 bytes of UTF-8) as the terminal shows it; the bytes it took.
static size_t show(const struct glint_terminal *terminal, const char *text, size_t n,
                   char out[MB_LEN_MAX + 8], int *cells) {
    static const char *const lead_bits = "\x7f\x1f\x0f\x07";
    unsigned char c = (unsigned char)text[0];
    size_t length = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (length > n)
        length = n;
    wchar_t code = c & lead_bits[length - 1];
    for (size_t i = 1; i < length; i++)
        code = (wchar_t)(code << 6 | (text[i] & 0x3f));
    if (code < 0x20 || code == 0x7f) {
        snprintf(out, 8, "^%c", (int)(code ^ 0x40));
        *cells = 2;
        return length;
    }
    *cells = wcwidth(code);
    // Controls of the second block, and the marks that turn the direction of a line.
    bool hidden = (code >= 0x80 && code < 0xa0) || (code >= 0x202a && code <= 0x202e) ||
                  (code >= 0x2066 && code <= 0x2069);
    if (hidden) {
        *cells = snprintf(out, 12, "<U+%04X>", (unsigned)code);
        return length;
    }
    mbstate_t state = {0};
    size_t n_out = wcrtomb(out, code, &state);
    if (n_out == (size_t)-1) {
        out[0] = '?';
        n_out = 1;
        *cells = 1;
    }
    out[n_out] = 0;
    if (*cells == NO_CELLS)
        *cells = terminal->utf8 ? 1 : 0; // newer than the C library's tables
    return length;
}

static void put_space(struct glint_terminal *terminal, char c) {
    write_word(terminal);
    bool full = terminal->wrap && terminal->column + 1 >= glint_terminal_width(terminal);
    if (c == ' ' && full)
        c = '\n'; // the break stands for the space
    fputc(c, terminal->file);
    terminal->column = c == '\n'   ? 0
                       : c == '\t' ? (terminal->column / 8 + 1) * 8
                                   : terminal->column + 1;
    terminal->line_open = c != '\n';
}

void glint_terminal_put(struct glint_terminal *terminal, const char *text, size_t n) {
    if (n == 0)
        return;
    if (!terminal->is_terminal) {
        fwrite(text, 1, n, terminal->file);
        terminal->line_open = text[n - 1] != '\n';
        return;
    }
    for (size_t at = 0; at < n;) {
        char shown[MB_LEN_MAX + 8];
        int cells;
        if (text[at] == '\n' || text[at] == ' ' || text[at] == '\t') {
            put_space(terminal, text[at++]);
            continue;
        }
        at += show(terminal, text + at, n - at, shown, &cells);
        size_t n_shown = strlen(shown);
        bool wide = cells > 1 && (text[at - 1] & 0x80); // scripts without spaces break anywhere
        if (wide || terminal->n_word + n_shown > sizeof terminal->word)
            write_word(terminal);
        memcpy(terminal->word + terminal->n_word, shown, n_shown);
        terminal->n_word += n_shown;
        terminal->word_cells += cells;
        if (wide)
            write_word(terminal);
    }
}

void glint_terminal_flush(struct glint_terminal *terminal) {
    write_word(terminal);
    fflush(terminal->file);
}

void glint_terminal_end_line(struct glint_terminal *terminal) {
    write_word(terminal);
    if (terminal->line_open)
        fputc('\n', terminal->file);
    terminal->line_open = false;
    terminal->column = 0;
    fflush(terminal->file);
}
