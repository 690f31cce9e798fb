// SPDX-License-Identifier: Apache-2.0
// text_method.h — the methods of strings, behind the table in value_method.c.
#ifndef GLINT_PROMPT_TEXT_METHOD_H
#define GLINT_PROMPT_TEXT_METHOD_H

#include "prompt/value_filter.h"

bool glint_string_split(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);
bool glint_string_rsplit(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out);
bool glint_string_splitlines(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             struct glint_value *out);
bool glint_string_partition(struct glint_render *r, struct glint_value in, struct glint_args *args,
                            struct glint_value *out);
bool glint_string_rpartition(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             struct glint_value *out);
bool glint_string_strip(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);
bool glint_string_lstrip(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out);
bool glint_string_rstrip(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out);
bool glint_string_startswith(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             struct glint_value *out);
bool glint_string_endswith(struct glint_render *r, struct glint_value in, struct glint_args *args,
                           struct glint_value *out);
bool glint_string_removeprefix(struct glint_render *r, struct glint_value in,
                               struct glint_args *args, struct glint_value *out);
bool glint_string_removesuffix(struct glint_render *r, struct glint_value in,
                               struct glint_args *args, struct glint_value *out);
bool glint_string_method_find(struct glint_render *r, struct glint_value in,
                              struct glint_args *args, struct glint_value *out);
bool glint_string_method_rfind(struct glint_render *r, struct glint_value in,
                               struct glint_args *args, struct glint_value *out);
bool glint_string_replace(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out);
bool glint_string_method_join(struct glint_render *r, struct glint_value in,
                              struct glint_args *args, struct glint_value *out);
bool glint_string_title(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);
bool glint_string_isalpha(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out);
bool glint_string_isdigit(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out);
bool glint_string_isalnum(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out);
bool glint_string_isspace(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out);
bool glint_string_islower(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out);
bool glint_string_isupper(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out);
bool glint_string_ljust(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);
bool glint_string_rjust(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);
bool glint_string_zfill(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);
bool glint_string_count(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);
bool glint_string_index(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);

#endif
