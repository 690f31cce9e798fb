// SPDX-License-Identifier: Apache-2.0
// data_url.h — base64 (RFC 4648) and data URLs (RFC 2397) from untrusted text, and base64 to it.
#ifndef GLINT_SERVER_DATA_URL_H
#define GLINT_SERVER_DATA_URL_H

#include "base/buffer.h"
#include "base/status.h"

// Appends the bytes of a base64 text. Both alphabets, white space anywhere, and "%2B" for "+" and
// the like are accepted; padding may be missing. GLINT_E_FORMAT tells the offset of what cannot be;
// name opens the message.
enum glint_status glint_base64_read(struct glint_buffer *out, struct glint_view text,
                                    const char *name, struct glint_error *err);

// Appends n bytes as base64, padded, without line breaks.
void glint_base64_write(struct glint_buffer *out, const void *data, size_t n);

// Finds the base64 text of "data:[type][;parameters];base64,TEXT". False for other URLs.
bool glint_data_url_split(struct glint_view url, struct glint_view *text);
// "https:" and the like at the start, without regard to case.
bool glint_url_has_scheme(struct glint_view url, const char *scheme);

#endif
