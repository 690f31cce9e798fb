// SPDX-License-Identifier: Apache-2.0
// json_out.c — escaping for JSON output.
#include "json_out.h"

void glint_json_out_string(FILE *out, const char *text, size_t n) {
    putc('"', out);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", out);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            putc(c, out);
    }
    putc('"', out);
}
