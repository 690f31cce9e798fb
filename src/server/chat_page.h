// SPDX-License-Identifier: Apache-2.0
// chat_page.h — routes of the chat page: "/", its parts below "/page/", and its icon.
// All are answered without a key: they hold nothing of anybody's. With params.no_page there is
// nothing at these paths.
#ifndef GLINT_SERVER_CHAT_PAGE_H
#define GLINT_SERVER_CHAT_PAGE_H

#include "server/exchange.h"

void glint_chat_page(struct glint_exchange *exchange);
void glint_chat_page_part(struct glint_exchange *exchange);
void glint_chat_page_icon(struct glint_exchange *exchange);

#endif
