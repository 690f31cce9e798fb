// SPDX-License-Identifier: Apache-2.0
// openai_responses.h — OpenAI's responses: requests for one, and those that are stored.
#ifndef GLINT_SERVER_OPENAI_RESPONSES_H
#define GLINT_SERVER_OPENAI_RESPONSES_H

#include "server/openai_items.h"

void glint_responses(struct glint_exchange *exchange);       // POST /v1/responses
void glint_responses_count(struct glint_exchange *exchange); // POST /v1/responses/input_tokens
// Of stored ones.
void glint_responses_get(struct glint_exchange *exchange); // GET /v1/responses/{id}[/input_items]
void glint_responses_delete(struct glint_exchange *exchange); // DELETE /v1/responses/{id}
void glint_responses_cancel(struct glint_exchange *exchange); // POST /v1/responses/{id}/cancel
// Why the store did not do as asked, for the client. Failures that are ours go to the log, which
// may name files; true for those, whose status is 500.
bool glint_responses_store_failed(const struct glint_exchange *exchange,
                                  const struct glint_error *error, const char **reason);

struct glint_responses_request { // all-zero is a valid empty one
    struct glint_chat_job job;
    struct glint_items inputs;   // the request's own, each with an id
    struct glint_buffer skipped; // names of tools and items that nothing here understands
    const char *model, *previous;
    bool stream;
    bool store;
    bool summary; // reasoning is said as a summary
    bool seal;    // and sealed
    bool shorten; // turns may be dropped where the context is too short
};

void glint_responses_fini(struct glint_responses_request *request);
// The fields of a request. False after filling source->fields->error. Strings live as long as the
// document that source->fields reads.
bool glint_responses_read(struct glint_responses_request *request,
                          const struct glint_items_source *source,
                          const struct glint_request_defaults *defaults);
// A refusal that speaks of the template's fields, in the words of this protocol.
void glint_responses_rename(struct glint_api_error *error);

#endif
