// SPDX-License-Identifier: Apache-2.0
// talk_input.c — a message of one line or several: a \\ at the end of a line goes on, """ begins
// and ends a block.
#include "talk.h"

#include <stdlib.h>
#include <string.h>

// Whether the line asks for more lines; its mark is then cut off.
static bool goes_on(struct glint_kept_text *text, bool *in_block) {
    static const char fence[] = "\"\"\"";
    size_t n = text->n;
    bool fenced = n >= 3 && memcmp(text->data + n - 3, fence, 3) == 0;
    if (*in_block) {
        *in_block = !fenced;
        text->n -= fenced ? 3 : 0;
        text->data[text->n] = 0;
        return *in_block;
    }
    if (n >= 3 && memcmp(text->data, fence, 3) == 0) {
        bool whole = n >= 6 && fenced;
        memmove(text->data, text->data + 3, n - 3);
        text->n = n - (whole ? 6 : 3);
        text->data[text->n] = 0;
        *in_block = !whole;
        return *in_block;
    }
    if (n > 0 && text->data[n - 1] == '\\') {
        text->data[--text->n] = 0;
        return true;
    }
    return false;
}

enum glint_line_result glint_talk_read(struct glint_talk *talk, const char *prompt,
                                       struct glint_kept_text *text) {
    bool in_block = false, more = true;
    char *initial = talk->initial;
    talk->initial = NULL;
    for (int i = 0; more; i++) {
        char *line;
        size_t n;
        enum glint_line_result result =
            glint_line_editor_read(talk->editor, i == 0 ? prompt : ". ", initial, &line, &n);
        free(initial);
        initial = NULL;
        if (result == GLINT_LINE_END && i > 0 && text->n > 0)
            break; // the input ends in the message
        if (result != GLINT_LINE_TEXT)
            return result;
        bool ok = (i == 0 || glint_kept_append(text, "\n", 1)) && glint_kept_append(text, line, n);
        free(line);
        if (!ok)
            return GLINT_LINE_END;
        more = goes_on(text, &in_block);
    }
    return GLINT_LINE_TEXT;
}
