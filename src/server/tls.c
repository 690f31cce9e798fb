// SPDX-License-Identifier: Apache-2.0
// tls.c — reading and checking the files before libmicrohttpd takes them, which tells no reasons.
#include "server/tls.h"

#include "base/alloc.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#ifdef GLINT_TLS
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#endif

enum { MAX_FILE_BYTES = 1 << 20, MAX_CHAIN = 16 };

static enum glint_status read_text(char **out, const char *option, const char *path,
                                   struct glint_error *err) {
    FILE *file = fopen(path, "rbe");
    if (!file)
        return glint_fail(err, GLINT_E_IO, "%s: %s: %s", option, path, strerror(errno));
    setvbuf(file, NULL, _IONBF, 0); // no copy of the key is left behind
    char *text = glint_alloc(MAX_FILE_BYTES + 1, 1);
    size_t n = text ? fread(text, 1, MAX_FILE_BYTES + 1, file) : 0;
    int code = ferror(file) ? errno : 0;
    fclose(file);
    *out = text;
    if (!text)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", option);
    if (code != 0)
        return glint_fail(err, GLINT_E_IO, "%s: %s: %s", option, path, strerror(code));
    if (n > MAX_FILE_BYTES)
        return glint_fail(err, GLINT_E_LIMIT, "%s: %s: over 1 MiB; expected a PEM file", option,
                          path);
    text[n] = 0;
    if (strlen(text) != n)
        return glint_fail(err, GLINT_E_FORMAT, "%s: %s: binary; expected a PEM file", option, path);
    return GLINT_OK;
}

#ifdef GLINT_TLS
static gnutls_datum_t datum(char *text) {
    return (gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)};
}

static enum glint_status check_certificate(const struct glint_tls *tls, const char *path,
                                           struct glint_error *err) {
    gnutls_x509_crt_t chain[MAX_CHAIN];
    unsigned n = MAX_CHAIN;
    gnutls_datum_t text = datum(tls->certificate);
    int code = gnutls_x509_crt_list_import(chain, &n, &text, GNUTLS_X509_FMT_PEM,
                                           GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
    if (code < 0)
        return glint_fail(err, GLINT_E_FORMAT,
                          "--ssl-cert-file: %s: expected a certificate in PEM, and at most %d: %s",
                          path, MAX_CHAIN, gnutls_strerror(code));
    for (int i = 0; i < code; i++)
        gnutls_x509_crt_deinit(chain[i]);
    return GLINT_OK;
}

static enum glint_status check_key(const struct glint_tls *tls, const char *path,
                                   struct glint_error *err) {
    gnutls_x509_privkey_t key;
    gnutls_datum_t text = datum(tls->key);
    int code = gnutls_x509_privkey_init(&key);
    if (code != 0)
        return glint_fail(err, GLINT_E_NOMEM, "--ssl-key-file: no memory");
    code = gnutls_x509_privkey_import2(key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
    gnutls_x509_privkey_deinit(key);
    if (code == GNUTLS_E_DECRYPTION_FAILED)
        return glint_fail(err, GLINT_E_FORMAT,
                          "--ssl-key-file: %s: the key needs a password; expected one without",
                          path);
    if (code < 0)
        return glint_fail(err, GLINT_E_FORMAT, "--ssl-key-file: %s: expected a key in PEM: %s",
                          path, gnutls_strerror(code));
    return GLINT_OK;
}

static enum glint_status check_pair(const struct glint_tls *tls, const char *certificate_path,
                                    const char *key_path, struct glint_error *err) {
    gnutls_certificate_credentials_t both;
    gnutls_datum_t certificate = datum(tls->certificate), key = datum(tls->key);
    GLINT_TRY(check_certificate(tls, certificate_path, err));
    GLINT_TRY(check_key(tls, key_path, err));
    if (gnutls_certificate_allocate_credentials(&both) != 0)
        return glint_fail(err, GLINT_E_NOMEM, "--ssl-cert-file: no memory");
    int code = gnutls_certificate_set_x509_key_mem(both, &certificate, &key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(both);
    if (code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        return glint_fail(err, GLINT_E_FORMAT,
                          "--ssl-key-file: %s: not the key of the first certificate of %s",
                          key_path, certificate_path);
    if (code < 0)
        return glint_fail(err, GLINT_E_FORMAT, "--ssl-cert-file: %s with %s: %s", certificate_path,
                          key_path, gnutls_strerror(code));
    return GLINT_OK;
}
#else
static enum glint_status check_pair(const struct glint_tls *tls, const char *certificate_path,
                                    const char *key_path, struct glint_error *err) {
    (void)tls, (void)certificate_path, (void)key_path;
    return glint_fail(err, GLINT_E_UNSUPPORTED,
                      "--ssl-cert-file: this glint was built without GnuTLS");
}
#endif

enum glint_status glint_tls_open(struct glint_tls *tls, const char *certificate_path,
                                 const char *key_path, struct glint_error *err) {
    *tls = (struct glint_tls){.key = NULL};
    if (!certificate_path || !key_path)
        return glint_fail(err, GLINT_E_ARG, "%s needs %s too",
                          certificate_path ? "--ssl-cert-file" : "--ssl-key-file",
                          certificate_path ? "--ssl-key-file" : "--ssl-cert-file");
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "--ssl-cert-file: this libmicrohttpd was built without TLS");
    enum glint_status status =
        read_text(&tls->certificate, "--ssl-cert-file", certificate_path, err);
    if (status == GLINT_OK)
        status = read_text(&tls->key, "--ssl-key-file", key_path, err);
    if (status == GLINT_OK)
        status = check_pair(tls, certificate_path, key_path, err);
    if (status != GLINT_OK)
        glint_tls_close(tls);
    return status;
}

void glint_tls_close(struct glint_tls *tls) {
    if (tls->key) {
        // Writes that the compiler cannot leave out although nobody reads them.
        for (volatile char *byte = tls->key; *byte; byte++)
            *byte = 0;
    }
    glint_free(tls->key);
    glint_free(tls->certificate);
    *tls = (struct glint_tls){.key = NULL};
}
