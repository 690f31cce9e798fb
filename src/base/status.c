// SPDX-License-Identifier: Apache-2.0
// status.c — error texts and the end of the program when a promise is broken.
// Texts are formatted beside the caller's error first, so that an argument may point into it.
#include "base/status.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = sizeof(((struct glint_error *)0)->text) };

const char *glint_status_name(enum glint_status status) {
    switch (status) {
    case GLINT_OK:
        return "ok";
    case GLINT_E_ARG:
        return "argument";
    case GLINT_E_NOMEM:
        return "memory";
    case GLINT_E_IO:
        return "io";
    case GLINT_E_FORMAT:
        return "format";
    case GLINT_E_UNSUPPORTED:
        return "unsupported";
    case GLINT_E_LIMIT:
        return "limit";
    case GLINT_E_CANCELLED:
        return "cancelled";
    case GLINT_E_DEVICE:
        return "device";
    case GLINT_E_BUSY:
        return "busy";
    case GLINT_E_NOTFOUND:
        return "notfound";
    case GLINT_E_INTERNAL:
        return "internal";
    }
    return "unknown";
}

// Length of a text in a full buffer, the cut-off character removed. Names out of files may hold
// control characters, which a terminal would obey: they become question marks.
static size_t end_text(char text[TEXT_BYTES], int wanted) {
    size_t n = wanted < 0 ? 0 : (size_t)wanted; // the format itself failed: an empty text
    if (n >= TEXT_BYTES)
        n = glint_utf8_trim(text, TEXT_BYTES - 1);
    text[n] = 0;
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\n') || text[i] == 0x7f)
            text[i] = '?';
    return n;
}

enum glint_status glint_fail(struct glint_error *err, enum glint_status status, const char *format,
                             ...) {
    GLINT_ASSERT(status != GLINT_OK);
    if (!err)
        return status;
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t n = end_text(text, wanted);
    err->status = status;
    memcpy(err->text, text, n + 1);
    return status;
}

enum glint_status glint_fail_in(struct glint_error *err, enum glint_status status,
                                const char *format, ...) {
    GLINT_ASSERT(status != GLINT_OK);
    if (!err)
        return status;
    if (err->status == GLINT_OK)
        err->status = status;
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    size_t n = end_text(text, vsnprintf(text, sizeof text, format, args));
    va_end(args);
    n = end_text(text, (int)n + snprintf(text + n, sizeof text - n, ": %s", err->text));
    memcpy(err->text, text, n + 1);
    return err->status;
}

// The one place where the library writes to the terminal: the program is about to end.
_Noreturn void glint_abort(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, condition);
    abort();
}
