// SPDX-License-Identifier: Apache-2.0
// json_out.h — the little JSON that commands print themselves.
#ifndef GLINT_APPS_JSON_OUT_H
#define GLINT_APPS_JSON_OUT_H

#include <stddef.h>
#include <stdio.h>

// A JSON string in quotes; text is UTF-8 of n bytes.
void glint_json_out_string(FILE *out, const char *text, size_t n);

#endif
