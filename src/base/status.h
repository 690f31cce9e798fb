// SPDX-License-Identifier: Apache-2.0
// status.h — returning and forwarding errors.
// The world fails: return an enum glint_status, fill the caller's struct glint_error with
// glint_fail. The caller is wrong: GLINT_REQUIRE. We are wrong: GLINT_ASSERT.
#ifndef GLINT_BASE_STATUS_H
#define GLINT_BASE_STATUS_H

#include <glint/glint.h>

// Fills err (may be NULL) with the formatted text and returns status, so that callers write
// `return glint_fail(err, GLINT_E_FORMAT, "%s: ...", path, ...)`. Long texts are cut on a
// character border. Never called with GLINT_OK.
enum glint_status glint_fail(struct glint_error *err, enum glint_status status, const char *format,
                             ...) __attribute__((format(printf, 3, 4)));

// Puts "prefix: " before the text already in err; returns err's status (or status if NULL).
enum glint_status glint_fail_in(struct glint_error *err, enum glint_status status,
                                const char *format, ...) __attribute__((format(printf, 3, 4)));

// Reports a broken promise and aborts. Used by the macros below only.
_Noreturn void glint_abort(const char *file, int line, const char *condition);

// Forwards a failure where nothing is owned.
#define GLINT_TRY(expression)                                                                      \
    do {                                                                                           \
        enum glint_status glint_try_ = (expression);                                               \
        if (glint_try_ != GLINT_OK)                                                                \
            return glint_try_;                                                                     \
    } while (0)

// A promise of ours; checked in every build that is not NDEBUG.
#ifdef NDEBUG
#define GLINT_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#else
#define GLINT_ASSERT(condition)                                                                    \
    ((condition) ? (void)0 : glint_abort(__FILE__, __LINE__, #condition))
#endif

// The caller's promise: aborts in debug builds, an argument error in release.
#ifdef NDEBUG
#define GLINT_REQUIRE(condition, err)                                                              \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return glint_fail((err), GLINT_E_ARG, "%s: requirement not met: %s", __func__,         \
                              #condition);                                                         \
    } while (0)
#else
#define GLINT_REQUIRE(condition, err)                                                              \
    do {                                                                                           \
        (void)(err);                                                                               \
        if (!(condition))                                                                          \
            glint_abort(__FILE__, __LINE__, #condition);                                           \
    } while (0)
#endif

#endif
