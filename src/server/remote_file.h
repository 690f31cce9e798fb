// SPDX-License-Identifier: Apache-2.0
// remote_file.h — a file from another server, by an address that a stranger has chosen.
// Only http and https; the address that is really connected to is checked, also after a redirect;
// size, time and the number of redirects are limited; no cookies, no credentials, no proxies.
#ifndef GLINT_SERVER_REMOTE_FILE_H
#define GLINT_SERVER_REMOTE_FILE_H

#include "base/buffer.h"
#include "base/status.h"

enum { GLINT_REMOTE_MAX_BYTES = 20 << 20 };

struct sockaddr;

struct glint_remote_request {
    const char *url;
    const char *name; // opens the message of errors
    // Whether an address may be connected to; NULL: any.
    bool (*is_allowed)(const struct sockaddr *address);
    bool (*cancel)(void *user); // asked several times a second; true stops
    void *user;
};

// Once in the life of the process, before any fetch. GLINT_E_UNSUPPORTED when built without
// libcurl.
enum glint_status glint_remote_init(struct glint_error *err);
// Appends the file. GLINT_E_ARG for an address that is not allowed, GLINT_E_LIMIT for a file that
// is too large, GLINT_E_FORMAT when the other server did not deliver.
enum glint_status glint_remote_fetch(struct glint_buffer *out,
                                     const struct glint_remote_request *request,
                                     struct glint_error *err);
// Whether an address is one of the public internet's.
bool glint_address_is_public(const struct sockaddr *address);

#endif
