// SPDX-License-Identifier: Apache-2.0
// value_filter.h — the functions behind the tables of filters and methods, one signature for all.
// Arguments are taken with glint_args_take in the order of Python's parameters.
#ifndef GLINT_PROMPT_VALUE_FILTER_H
#define GLINT_PROMPT_VALUE_FILTER_H

#include "prompt/render.h"

typedef bool (*glint_filter_fn)(struct glint_render *r, struct glint_value in,
                                struct glint_args *args, struct glint_value *out);

// text_filter.c
bool glint_filter_upper(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);
bool glint_filter_lower(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);
bool glint_filter_capitalize(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             struct glint_value *out);
bool glint_filter_title(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);
bool glint_filter_trim(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out);
bool glint_filter_replace(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out);
bool glint_filter_string(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out);
bool glint_filter_indent(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out);
bool glint_filter_truncate(struct glint_render *r, struct glint_value in, struct glint_args *args,
                           struct glint_value *out);
bool glint_filter_center(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out);
bool glint_filter_tojson(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out);
bool glint_filter_join(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out);

// list_filter.c
bool glint_filter_first(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);
bool glint_filter_last(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out);
bool glint_filter_length(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out);
bool glint_filter_list(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out);
bool glint_filter_map(struct glint_render *r, struct glint_value in, struct glint_args *args,
                      struct glint_value *out);
bool glint_filter_select(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out);
bool glint_filter_reject(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out);
bool glint_filter_selectattr(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             struct glint_value *out);
bool glint_filter_rejectattr(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             struct glint_value *out);
bool glint_filter_reverse(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out);
bool glint_filter_items(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out);

// sort_filter.c
bool glint_filter_sort(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out);
bool glint_filter_dictsort(struct glint_render *r, struct glint_value in, struct glint_args *args,
                           struct glint_value *out);
bool glint_filter_unique(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out);
bool glint_filter_min(struct glint_render *r, struct glint_value in, struct glint_args *args,
                      struct glint_value *out);
bool glint_filter_max(struct glint_render *r, struct glint_value in, struct glint_args *args,
                      struct glint_value *out);

// value_filter.c
// A list value of a list.
struct glint_value glint_list_value(struct glint_list *list);
// Appends the string's bytes without white space (chars NULL) or without chars at its ends.
enum glint_side { GLINT_SIDE_LEFT = 1, GLINT_SIDE_RIGHT = 2, GLINT_SIDE_BOTH = 3 };
bool glint_strip(struct glint_render *r, const struct glint_string *text,
                 const struct glint_string *chars, enum glint_side side, struct glint_value *out);

#endif
