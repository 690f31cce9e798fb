// SPDX-License-Identifier: Apache-2.0
// json_out.c — escaping for JSON output.
#include "json_out.h"

#include "base/utf8.h"

static void put_ascii(FILE *out, unsigned char c) {
    if (c == '"' || c == '\\')
        fprintf(out, "\\%c", c);
    else if (c == '\n')
        fputs("\\n", out);
    else if (c < 0x20)
        fprintf(out, "\\u%04x", c);
    else
        putc(c, out);
}

void glint_json_out_string(FILE *out, const char *text, size_t n) {
    putc('"', out);
    for (size_t i = 0; i < n;) {
        struct glint_utf8_step step = glint_utf8_next(text + i, n - i);
        if (!step.valid)
            fputs("\xef\xbf\xbd", out);
        else if (step.n == 1)
            put_ascii(out, (unsigned char)text[i]);
        else
            fwrite(text + i, 1, step.n, out);
        i += step.n;
    }
    putc('"', out);
}
