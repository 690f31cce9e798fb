// SPDX-License-Identifier: Apache-2.0
// serve_service.h — `glint serve` under systemd or what speaks like it: sockets that were opened
// for it, and telling how far it is. Elsewhere, without the variables, all of it does nothing.
#ifndef GLINT_APPS_SERVE_SERVICE_H
#define GLINT_APPS_SERVE_SERVICE_H

#include <glint/glint.h>

#include <sys/socket.h>
#include <sys/un.h>

struct glint_service {
    int fd, ollama_fd; // sockets of LISTEN_FDS that listen; -1: none
    struct sockaddr_un manager;
    socklen_t n_manager; // bytes of its address; 0: nobody wants to be told
};

// Reads LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES and NOTIFY_SOCKET and removes them, so that no child
// takes them for its own; to be called before there are threads. A socket named "ollama" is for
// Ollama's protocol, else the second one. GLINT_E_ARG for a variable that holds something else.
enum glint_status glint_service_take(struct glint_service *service, struct glint_error *err);
// Tells the manager: lines as "READY=1" or "STATUS=text". Failures are of no account.
void glint_service_tell(const struct glint_service *service, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
