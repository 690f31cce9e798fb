// SPDX-License-Identifier: Apache-2.0
// route.h — which function answers which path.
#ifndef GLINT_SERVER_ROUTE_H
#define GLINT_SERVER_ROUTE_H

#include "server/exchange.h"

struct glint_route_found {
    const struct glint_route *route; // NULL: no such path
    const char *rest;                // after the path of a route that ends in "/*"
    bool wrong_method;               // the path exists, for another method: route has that one
};
// door: whose socket it came to. A slash at the end of the path does not count; path is changed for
// that.
struct glint_route_found glint_route_find(enum glint_protocol door, const char *method, char *path);

#endif
