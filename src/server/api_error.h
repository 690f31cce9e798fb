// SPDX-License-Identifier: Apache-2.0
// api_error.h — a refused or failed request, and its body in the protocol's own shape.
#ifndef GLINT_SERVER_API_ERROR_H
#define GLINT_SERVER_API_ERROR_H

#include "base/status.h"
#include "format/json_write.h"

// Whose shapes a route speaks.
enum glint_protocol { GLINT_PROTOCOL_OPENAI, GLINT_PROTOCOL_ANTHROPIC, GLINT_PROTOCOL_OLLAMA };

enum { GLINT_API_LATER = 1 }; // a status that is no error: see glint_exchange_view

struct glint_api_error {
    int status;              // of HTTP; 0: no error
    const char *code;        // a stable word such as "context_length_exceeded"; NULL: none
    char param[120];         // the field at fault; empty: none
    char message[1100];      // for people
    int n_prompt, n_context; // with context_length_exceeded; else 0
};

// Fills error; param may be NULL.
void glint_api_fail(struct glint_api_error *error, int status, const char *param,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
// From an error of the library: GLINT_E_ARG, FORMAT and LIMIT are the client's (400), BUSY is 429,
// the rest 500. "messages[2].role: found ..." names the field.
void glint_api_fail_from(struct glint_api_error *error, const struct glint_error *from);
// The JSON body; request_id is for dialects that carry it there.
void glint_api_error_put(const struct glint_api_error *error, enum glint_protocol protocol,
                         const char *request_id, struct glint_buffer *out);

#endif
