// SPDX-License-Identifier: Apache-2.0
// test_address.c — which addresses a stranger's URL may lead to, at the borders of every block.
#define _POSIX_C_SOURCE 200809L
#include "server/remote_file.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static bool is_public(const char *text) {
    struct sockaddr_storage storage;
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    memset(&storage, 0, sizeof storage);
    if (strchr(text, ':')) {
        assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
        memcpy(&storage, &in6, sizeof in6);
    } else {
        assert_int_equal(inet_pton(AF_INET, text, &in.sin_addr), 1);
        memcpy(&storage, &in, sizeof in);
    }
    return glint_address_is_public((const struct sockaddr *)&storage);
}

static void test_addresses(void **state) {
    (void)state;
    static const char *const inside[] = {
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.0.0",
        "169.254.169.254",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.0",
        "192.168.255.255",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.0",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "4000::1",
        "fc00::1",
        "fdff::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    };
    static const char *const outside[] = {
        "1.0.0.0",          "9.255.255.255", "11.0.0.0",     "100.63.255.255",  "100.128.0.0",
        "126.0.0.1",        "128.0.0.1",     "169.253.0.1",  "169.255.0.1",     "172.15.255.255",
        "172.32.0.0",       "192.0.1.1",     "192.0.3.0",    "192.167.255.255", "192.169.0.0",
        "198.17.0.1",       "198.20.0.0",    "8.8.8.8",      "223.255.255.255", "2001:200::1",
        "2001:db9::1",      "2003::1",       "2606:4700::1", "3ffe::1",         "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    };
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (is_public(inside[i]))
            fail_msg("%s is taken for public", inside[i]);
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        if (!is_public(outside[i]))
            fail_msg("%s is not taken for public", outside[i]);
    struct sockaddr local = {.sa_family = AF_UNIX};
    assert_false(glint_address_is_public(&local));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
