// SPDX-License-Identifier: Apache-2.0
// remote_file.c — one transfer with libcurl. Names are resolved by libcurl; the address that comes
// out is checked where the socket is made, so that no second look-up can slip in between.
#define _POSIX_C_SOURCE 200809L
#include "server/remote_file.h"

#include <stdio.h>
#include <string.h>

#ifndef GLINT_CURL

enum glint_status glint_remote_init(struct glint_error *err) {
    return glint_fail(err, GLINT_E_UNSUPPORTED,
                      "addresses of pictures cannot be fetched: glint was built without libcurl "
                      "(tools/setup.sh)");
}

enum glint_status glint_remote_fetch(struct glint_buffer *out,
                                     const struct glint_remote_request *request,
                                     struct glint_error *err) {
    (void)out;
    (void)request;
    return glint_remote_init(err);
}

#else

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/socket.h>

enum { CONNECT_MS = 5000, TOTAL_MS = 20000, MAX_REDIRECTS = 3 };

struct transfer {
    const struct glint_remote_request *request;
    struct glint_buffer *out;
    size_t n; // bytes of the answer at hand
    bool refused, too_large, cancelled;
};

static size_t take(char *data, size_t size, size_t n, void *user) {
    struct transfer *t = user;
    n *= size;
    if (n > GLINT_REMOTE_MAX_BYTES - t->n) {
        t->too_large = true;
        return 0;
    }
    t->n += n;
    glint_buffer_append(t->out, data, n);
    return t->out->failed ? 0 : n;
}

static int watch(void *user, curl_off_t total, curl_off_t now, curl_off_t up, curl_off_t sent) {
    struct transfer *t = user;
    (void)now;
    (void)up;
    (void)sent;
    t->too_large = t->too_large || total > GLINT_REMOTE_MAX_BYTES;
    t->cancelled = t->request->cancel && t->request->cancel(t->request->user);
    return t->too_large || t->cancelled;
}

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
    struct transfer *t = user;
    (void)purpose;
    if (t->request->is_allowed && !t->request->is_allowed(&address->addr)) {
        t->refused = true;
        return CURL_SOCKET_BAD;
    }
    t->refused = false; // a name may have several addresses
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

enum glint_status glint_remote_init(struct glint_error *err) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        return GLINT_OK;
    return glint_fail(err, GLINT_E_INTERNAL, "libcurl cannot be initialised");
}

static bool set_options(CURL *curl, struct transfer *t) {
    CURLcode code = CURLE_OK;
#define SET(option, value) (code = code ? code : curl_easy_setopt(curl, option, value))
    SET(CURLOPT_URL, t->request->url);
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    SET(CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_FOLLOWLOCATION, 1L);
    SET(CURLOPT_MAXREDIRS, (long)MAX_REDIRECTS);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    SET(CURLOPT_TIMEOUT_MS, (long)TOTAL_MS);
    SET(CURLOPT_MAXFILESIZE, (long)GLINT_REMOTE_MAX_BYTES);
    SET(CURLOPT_FAILONERROR, 1L);
    SET(CURLOPT_USERAGENT, "glint");
    SET(CURLOPT_ACCEPT_ENCODING, NULL); // an answer of 20 MB must not unfold to more
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, t);
    SET(CURLOPT_WRITEFUNCTION, take);
    SET(CURLOPT_WRITEDATA, t);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, watch);
    SET(CURLOPT_XFERINFODATA, t);
#undef SET
    return code == CURLE_OK;
}

static enum glint_status explain(const struct transfer *t, CURLcode code, const char *detail,
                                 struct glint_error *err) {
    const char *name = t->request->name, *url = t->request->url;
    if (t->cancelled)
        return glint_fail(err, GLINT_E_CANCELLED, "%s: cancelled", name);
    if (t->refused)
        return glint_fail(err, GLINT_E_ARG,
                          "%s: %.200s leads to an address that is not public, which this server "
                          "does not ask",
                          name, url);
    if (t->too_large || code == CURLE_FILESIZE_EXCEEDED)
        return glint_fail(err, GLINT_E_LIMIT, "%s: %.200s is over the limit of %d bytes", name, url,
                          GLINT_REMOTE_MAX_BYTES);
    if (t->out->failed || code == CURLE_OUT_OF_MEMORY)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", name);
    return glint_fail(err, GLINT_E_FORMAT, "%s: %.200s cannot be fetched: %s", name, url,
                      detail[0] ? detail : curl_easy_strerror(code));
}

enum glint_status glint_remote_fetch(struct glint_buffer *out,
                                     const struct glint_remote_request *request,
                                     struct glint_error *err) {
    struct transfer t = {.request = request, .out = out};
    char detail[CURL_ERROR_SIZE] = "";
    CURL *curl = curl_easy_init();
    if (!curl || !set_options(curl, &t)) {
        curl_easy_cleanup(curl);
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", request->name);
    }
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_cleanup(curl);
    return code == CURLE_OK ? GLINT_OK : explain(&t, code, detail, err);
}

#endif
