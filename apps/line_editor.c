// SPDX-License-Identifier: Apache-2.0
// line_editor.c — libedit and its key bindings; or getline.
#define _XOPEN_SOURCE 700 // wcwidth
#include "line_editor.h"

#include "interrupt.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#ifdef GLINT_LIBEDIT
#include "line_history.h"

#include <histedit.h>

enum { PASTE_SHOWN_LINES = 8, MAX_PASTES = 32 };
static const size_t max_paste_bytes = (size_t)64 << 20;

#define PASTE_BEGIN "\033[200~"
#define PASTE_END   "\033[201~"
#define INITIAL_KEY "\033[glint~" // no keyboard sends it: puts the initial text in

struct paste { // stands in the line as "[pasted N lines #i]"
    char name[48];
    char *text; // owned
};
#endif

struct glint_line_editor {
    bool interactive;
    const char *const *words;
#ifdef GLINT_LIBEDIT
    EditLine *edit;
    struct glint_line_history *history; // NULL for none
    const char *prompt, *initial;
    mbstate_t decoding;
    bool interrupted, typed;
    struct paste pastes[MAX_PASTES];
    int n_pastes;
#endif
};

#ifdef GLINT_LIBEDIT
// ---- keys -------------------------------------------------------------------------------------

static struct glint_line_editor *editor_of(EditLine *edit) {
    void *data = NULL;
    el_get(edit, EL_CLIENTDATA, &data);
    return data;
}

static char *show_prompt(EditLine *edit) {
    return (char *)(uintptr_t)editor_of(edit)->prompt;
}

// Cells of a line of text, which may not be terminated.
static int count_cells(const char *text, size_t n) {
    mbstate_t state = {0};
    int cells = 0;
    while (n > 0) {
        wchar_t c;
        size_t length = mbrtowc(&c, text, n, &state);
        if (length == 0 || length > n)
            return cells + (int)n;
        int width = wcwidth(c);
        cells += width > 0 ? width : 0;
        text += length;
        n -= length;
    }
    return cells;
}

// Cells of a prompt, colours between \1 and \1 left out.
static int prompt_cells(const char *prompt) {
    int cells = 0;
    for (bool hidden = false; *prompt; prompt++) {
        if (*prompt == '\1')
            hidden = !hidden;
        else
            cells += !hidden;
    }
    return cells;
}

// After a resize the terminal has broken the line anew: draws it again from where it begins now.
static void redraw(EditLine *edit) {
    const LineInfo *line = el_line(edit);
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return;
    int rows = 0, before = prompt_cells(editor_of(edit)->prompt);
    for (const char *at = line->buffer; at <= line->cursor; rows++, before = 0) {
        const char *end = memchr(at, '\n', (size_t)(line->cursor - at));
        end = end ? end : line->cursor;
        rows += (before + count_cells(at, (size_t)(end - at))) / size.ws_col;
        at = end + 1;
    }
    fputs("\r", stderr);
    if (rows > 1)
        fprintf(stderr, "\033[%dA", rows - 1);
    fputs("\033[J", stderr);
    el_resize(edit);
    el_set(edit, EL_REFRESH);
}

// One byte from the terminal; 0 at its end or when a signal asks to stop.
static int read_byte(EditLine *edit, char *byte) {
    struct glint_line_editor *editor = editor_of(edit);
    for (;;) {
        if (glint_interrupt_seen()) {
            const LineInfo *line = el_line(edit);
            editor->interrupted = true;
            editor->typed = line->lastchar != line->buffer;
            return 0;
        }
        if (glint_interrupt_take_resize())
            redraw(edit);
        if (glint_interrupt_take_resume()) {
            el_set(edit, EL_PREP_TERM, 0);
            el_set(edit, EL_PREP_TERM, 1);
            el_set(edit, EL_REFRESH);
        }
        if (!glint_interrupt_wait(STDIN_FILENO))
            continue;
        ssize_t n = read(STDIN_FILENO, byte, 1);
        if (n == 1)
            return 1;
        if (n == 0 || errno != EINTR)
            return 0;
    }
}

static int read_character(EditLine *edit, wchar_t *c) {
    mbstate_t *state = &editor_of(edit)->decoding;
    for (;;) {
        char byte;
        if (read_byte(edit, &byte) == 0)
            return 0;
        size_t n = mbrtowc(c, &byte, 1, state);
        if (n == (size_t)-2)
            continue; // more bytes follow
        if (n == (size_t)-1) {
            memset(state, 0, sizeof *state);
            *c = L'?';
        }
        return 1;
    }
}

static unsigned char key_newline(EditLine *edit, wint_t c) {
    (void)c;
    return el_insertstr(edit, "\n") == 0 ? CC_REFRESH : CC_ERROR;
}

static unsigned char key_initial(EditLine *edit, wint_t c) {
    (void)c;
    const char *initial = editor_of(edit)->initial;
    return initial && el_insertstr(edit, initial) == 0 ? CC_REFRESH : CC_NORM;
}

// Bytes up to the end of the paste, for free(); NULL when it did not end or memory did.
static char *read_paste(EditLine *edit, size_t *n_out) {
    size_t n = 0, capacity = 4096;
    char *text = malloc(capacity);
    while (text && n < max_paste_bytes && read_byte(edit, text + n)) {
        if (text[n] == '\r')
            text[n] = '\n';
        n++;
        size_t n_end = sizeof PASTE_END - 1;
        if (n >= n_end && memcmp(text + n - n_end, PASTE_END, n_end) == 0) {
            *n_out = n - n_end;
            text[*n_out] = 0;
            return text;
        }
        if (n == capacity) {
            capacity *= 2;
            char *grown = realloc(text, capacity);
            if (!grown)
                free(text);
            text = grown;
        }
    }
    free(text);
    return NULL;
}

// A long paste is kept aside and stands in the line by its name.
static const char *put_aside(struct glint_line_editor *editor, char *text) {
    int n_lines = 1;
    for (const char *c = text; *c; c++)
        n_lines += *c == '\n';
    if (n_lines <= PASTE_SHOWN_LINES || editor->n_pastes == MAX_PASTES)
        return NULL;
    struct paste *paste = &editor->pastes[editor->n_pastes++];
    snprintf(paste->name, sizeof paste->name, "[pasted %d lines #%d]", n_lines, editor->n_pastes);
    paste->text = text;
    return paste->name;
}

static unsigned char key_paste(EditLine *edit, wint_t c) {
    size_t n;
    (void)c;
    char *text = read_paste(edit, &n);
    if (!text)
        return CC_ERROR;
    const char *name = put_aside(editor_of(edit), text);
    int rc = el_insertstr(edit, name ? name : text);
    if (!name)
        free(text);
    return rc == 0 ? CC_REFRESH : CC_ERROR;
}

// Tab: a word at the beginning of the line, else a file name.
static unsigned char key_complete(EditLine *edit, wint_t c) {
    const struct glint_line_editor *editor = editor_of(edit);
    const LineInfo *line = el_line(edit);
    size_t n = (size_t)(line->cursor - line->buffer);
    const char *found = NULL;
    if (memchr(line->buffer, ' ', n))
        return _el_fn_complete(edit, (int)c);
    for (const char *const *word = editor->words; *word; word++) {
        if (strncmp(*word, line->buffer, n) != 0)
            continue;
        if (found)
            return CC_ERROR; // several
        found = *word;
    }
    if (!found)
        return _el_fn_complete(edit, (int)c);
    if (el_insertstr(edit, found + n) != 0 || el_insertstr(edit, " ") != 0)
        return CC_ERROR;
    return CC_REFRESH;
}

// The line with pastes in place of their names.
static char *expand(struct glint_line_editor *editor, const char *line, size_t *n_out) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return NULL;
    while (*line) {
        const struct paste *found = NULL;
        for (int i = 0; i < editor->n_pastes && !found; i++)
            if (strncmp(line, editor->pastes[i].name, strlen(editor->pastes[i].name)) == 0)
                found = &editor->pastes[i];
        if (found)
            fputs(found->text, out);
        else
            fputc(*line, out);
        line += found ? strlen(found->name) : 1;
    }
    if (fclose(out) != 0)
        return NULL;
    *n_out = n;
    return text;
}

static void forget_pastes(struct glint_line_editor *editor) {
    for (int i = 0; i < editor->n_pastes; i++)
        free(editor->pastes[i].text);
    editor->n_pastes = 0;
}

// ---- opening ----------------------------------------------------------------------------------

static void bind_keys(EditLine *edit) {
    static const struct {
        const wchar_t *wide;
        const char *name, *keys[3];
        unsigned char (*function)(EditLine *, wint_t);
    } keys[] = {
        {L"glint-newline", "glint-newline", {"\033\r", "\033\n"}, key_newline},
        {L"glint-paste", "glint-paste", {PASTE_BEGIN}, key_paste},
        {L"glint-initial", "glint-initial", {INITIAL_KEY}, key_initial},
        {L"glint-complete", "glint-complete", {"\t"}, key_complete},
    };
    static const char *const builtin[][2] = {
        {"\033[1~", "ed-move-to-beg"},      {"\033[4~", "ed-move-to-end"},
        {"\033[H", "ed-move-to-beg"},       {"\033[F", "ed-move-to-end"},
        {"\033[3~", "ed-delete-next-char"}, {"^R", "em-inc-search-prev"},
        {"^W", "ed-delete-prev-word"},      {"\033[1;5C", "em-next-word"},
        {"\033[1;5D", "ed-prev-word"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        // Its narrow sister loses memory.
        el_wset(edit, EL_ADDFN, keys[i].wide, keys[i].wide, keys[i].function);
        for (int k = 0; k < 3 && keys[i].keys[k]; k++)
            el_set(edit, EL_BIND, keys[i].keys[k], keys[i].name, NULL);
    }
    for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)
        el_set(edit, EL_BIND, builtin[i][0], builtin[i][1], NULL);
}

static void open_edit(struct glint_line_editor *editor, bool with_history) {
    const char *kind = getenv("TERM");
    if (!editor->interactive || !kind || strcmp(kind, "dumb") == 0)
        return;
    editor->edit = el_init("glint", stdin, stderr, stderr);
    if (!editor->edit)
        return;
    el_set(editor->edit, EL_CLIENTDATA, editor);
    el_set(editor->edit, EL_EDITOR, "emacs");
    el_set(editor->edit, EL_SIGNAL, 0); // ours
    el_set(editor->edit, EL_PROMPT_ESC, show_prompt, '\1');
    el_set(editor->edit, EL_GETCFN, read_character);
    bind_keys(editor->edit);
    if (with_history)
        editor->history = glint_line_history_open();
    if (editor->history)
        glint_line_history_attach(editor->history, editor->edit);
    el_source(editor->edit, NULL); // ~/.editrc
}

static enum glint_line_result read_edited(struct glint_line_editor *editor, const char *initial,
                                          char **text, size_t *n) {
    int count = 0;
    editor->interrupted = false;
    editor->initial = initial;
    memset(&editor->decoding, 0, sizeof editor->decoding);
    if (initial)
        el_push(editor->edit, INITIAL_KEY);
    fputs("\033[?2004h", stderr); // pastes come in brackets
    fflush(stderr);
    const char *line = el_gets(editor->edit, &count);
    fputs("\033[?2004l", stderr);
    if (!line || editor->interrupted) {
        fputs("\n", stderr);
        forget_pastes(editor);
        if (!editor->interrupted || glint_interrupt_is_final())
            return GLINT_LINE_END;
        return editor->typed ? GLINT_LINE_INTERRUPT_TYPED : GLINT_LINE_INTERRUPT;
    }
    *text = expand(editor, line, n);
    forget_pastes(editor);
    if (!*text)
        return GLINT_LINE_END;
    if (*n > 0 && (*text)[*n - 1] == '\n')
        (*text)[--*n] = 0;
    return GLINT_LINE_TEXT;
}

void glint_line_editor_remember(struct glint_line_editor *editor, const char *text) {
    if (editor->history && text[0])
        glint_line_history_add(editor->history, text);
}

#else // without libedit

static void open_edit(struct glint_line_editor *editor, bool with_history) {
    (void)editor;
    (void)with_history;
}

void glint_line_editor_remember(struct glint_line_editor *editor, const char *text) {
    (void)editor;
    (void)text;
}
#endif

struct glint_line_editor *glint_line_editor_open(const char *const *words, bool history) {
    struct glint_line_editor *editor = calloc(1, sizeof *editor);
    if (!editor)
        return NULL;
    editor->words = words;
    editor->interactive = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
    open_edit(editor, history);
    return editor;
}

void glint_line_editor_close(struct glint_line_editor **editor) {
    if (!*editor)
        return;
#ifdef GLINT_LIBEDIT
    forget_pastes(*editor);
    if ((*editor)->edit)
        el_end((*editor)->edit);
    glint_line_history_close(&(*editor)->history);
#endif
    free(*editor);
    *editor = NULL;
}

bool glint_line_editor_is_interactive(const struct glint_line_editor *editor) {
    return editor->interactive;
}

// Without editing: a prompt for whoever is there, then a line.
static enum glint_line_result read_plain(struct glint_line_editor *editor, const char *prompt,
                                         char **text, size_t *n) {
    size_t capacity = 0;
    for (const char *c = prompt; editor->interactive && *c; c++)
        if (*c != '\1')
            fputc(*c, stderr);
    *text = NULL;
    ssize_t length;
    do { // a signal that does not ask to stop ends no line
        clearerr(stdin);
        errno = 0;
        length = getline(text, &capacity, stdin);
    } while (length <= 0 && errno == EINTR && !glint_interrupt_seen());
    if (length <= 0) {
        free(*text);
        *text = NULL;
        if (glint_interrupt_seen() && !glint_interrupt_is_final())
            return GLINT_LINE_INTERRUPT;
        return GLINT_LINE_END;
    }
    *n = (size_t)length;
    if ((*text)[*n - 1] == '\n')
        (*text)[--*n] = 0;
    return GLINT_LINE_TEXT;
}

enum glint_line_result glint_line_editor_read(struct glint_line_editor *editor, const char *prompt,
                                              const char *initial, char **text, size_t *n) {
    *text = NULL;
    *n = 0;
#ifdef GLINT_LIBEDIT
    if (editor->edit) {
        editor->prompt = prompt;
        return read_edited(editor, initial, text, n);
    }
#endif
    (void)initial;
    return read_plain(editor, prompt, text, n);
}
