// SPDX-License-Identifier: Apache-2.0
// log.c — formats a message and hands it over; long ones are cut on a character border.
#include "base/log.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_BYTES = 2048 };

void glint_log_printf(const struct glint_log *log, enum glint_log_level level, const char *format,
                      ...) {
    if (!log || !log->write)
        return;
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (wanted < 0)
        return;
    if (wanted >= TEXT_BYTES)
        text[glint_utf8_trim(text, TEXT_BYTES - 1)] = 0;
    log->write(log->context, level, text);
}
