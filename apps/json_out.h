// SPDX-License-Identifier: Apache-2.0
// json_out.h — the little JSON that commands print themselves.
#ifndef GLINT_APPS_JSON_OUT_H
#define GLINT_APPS_JSON_OUT_H

#include <stddef.h>
#include <stdio.h>

// A JSON string in quotes; what is not UTF-8 among the n bytes becomes U+FFFD.
void glint_json_out_string(FILE *out, const char *text, size_t n);

#endif
