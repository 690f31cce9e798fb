// SPDX-License-Identifier: Apache-2.0
// log.h — messages to the caller's callback; the library itself prints nothing.
#ifndef GLINT_BASE_LOG_H
#define GLINT_BASE_LOG_H

enum glint_log_level { GLINT_LOG_ERROR, GLINT_LOG_WARN, GLINT_LOG_INFO, GLINT_LOG_DEBUG };

struct glint_log {
    void (*write)(void *context, enum glint_log_level level, const char *text); // NULL: silent
    void *context;
};

void glint_log_printf(const struct glint_log *log, enum glint_log_level level, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

#endif
