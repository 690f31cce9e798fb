// SPDX-License-Identifier: Apache-2.0
// tls.h — the certificate and key with which the server speaks HTTPS.
#ifndef GLINT_SERVER_TLS_H
#define GLINT_SERVER_TLS_H

#include "base/status.h"

// PEM texts, owned; both NULL: plain HTTP.
struct glint_tls {
    char *certificate; // the server's own first, then those that lead to a known authority
    char *key;
};

// Reads both files and checks that they belong together. Fails with GLINT_E_ARG when one is not
// named, GLINT_E_IO when one cannot be read, GLINT_E_FORMAT when one does not hold what it should,
// GLINT_E_UNSUPPORTED when this build or its libmicrohttpd has no GnuTLS. On failure *tls is empty.
enum glint_status glint_tls_open(struct glint_tls *tls, const char *certificate_path,
                                 const char *key_path, struct glint_error *err);
// Overwrites the key.
void glint_tls_close(struct glint_tls *tls);

#endif
