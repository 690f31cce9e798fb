// SPDX-License-Identifier: Apache-2.0
// test_constraint.c — constraints over the excerpt of the released vocabulary: the mask says what
// is accepted, token for token; taking back; budgets; and what is refused, by path.
#include "../token/token_fixture.h"
#include "engine/turn_grammar.h"
#include "fault.h"
#include "sample/constraint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct glint_vocab *vocab;
    struct glint_mask_space *space;
} t;

static int setup(void **state) {
    (void)state;
    t.vocab = token_fixture_vocab(false);
    return glint_mask_space_open(&t.space, t.vocab, glint_vocab_n_tokens(t.vocab), NULL);
}

static int teardown(void **state) {
    (void)state;
    glint_mask_space_close(&t.space);
    glint_vocab_close(&t.vocab);
    return 0;
}

struct request { // JSON texts, NULL where there is none
    const char *schema, *tools, *tool_choice;
    bool json_object, one_call, has_budget;
    size_t budget;
    enum glint_turn_start start;
    const char *start_tool;
};

static enum glint_status open_with(const struct request *request,
                                   struct glint_constraint **constraint, struct glint_error *err) {
    struct glint_json_doc *schema = NULL, *tools = NULL;
    struct glint_tool_set set = {.n = 0};
    struct glint_grammar grammar;
    enum glint_status status = GLINT_OK;
    *constraint = NULL;
    if (request->schema)
        status = glint_json_parse(&schema, glint_view_of(request->schema), NULL, err);
    if (status == GLINT_OK && request->tools)
        status = glint_json_parse(&tools, glint_view_of(request->tools), NULL, err);
    if (status == GLINT_OK && tools)
        status = glint_tool_set_init(&set, glint_json_root(tools), err);
    struct glint_turn_rules rules = {.tools = &set,
                                     .tool_choice = request->tool_choice,
                                     .one_call = request->one_call,
                                     .schema = schema ? glint_json_root(schema) : NULL,
                                     .json_object = request->json_object,
                                     .start = request->start,
                                     .start_tool = request->start_tool};
    if (status == GLINT_OK)
        status = glint_turn_grammar(&grammar, &rules, err);
    struct glint_constraint_rules own = {&grammar, request->has_budget, request->budget};
    if (status == GLINT_OK)
        status = glint_constraint_init(constraint, t.space, &own, err);
    glint_tool_set_fini(&set);
    glint_json_close(&tools);
    glint_json_close(&schema);
    return status;
}

static struct glint_constraint *open_request(const struct request *request) {
    struct glint_constraint *constraint;
    struct glint_error err = {.status = GLINT_OK};
    if (open_with(request, &constraint, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    return constraint;
}

static struct glint_constraint *open_schema(const char *schema) {
    return open_request(&(struct request){.schema = schema, .start = GLINT_TURN_USER});
}

static const uint32_t *mask_of(struct glint_constraint *constraint) {
    const uint32_t *mask = NULL;
    assert_int_equal(glint_constraint_mask(constraint, &mask, NULL), GLINT_OK);
    return mask;
}

static bool is_set(const uint32_t *mask, int32_t id) {
    return mask[id >> 5] >> (id & 31) & 1;
}

// Says the text byte by byte; the number of bytes taken.
static size_t say(struct glint_constraint *constraint, const char *text) {
    for (size_t i = 0; text[i]; i++) {
        int32_t id = glint_vocab_find(t.vocab, (struct glint_view){text + i, 1});
        if (glint_constraint_accept(constraint, id, NULL) != GLINT_OK)
            return i;
    }
    return strlen(text);
}

static bool may_end(struct glint_constraint *constraint) {
    return is_set(mask_of(constraint), glint_vocab_dialect(t.vocab)->eot);
}

// The schema takes the text as a whole answer.
static bool takes(const char *schema, const char *text) {
    struct glint_constraint *constraint = open_schema(schema);
    bool whole = say(constraint, text) == strlen(text) && may_end(constraint);
    glint_constraint_close(&constraint);
    return whole;
}

// ---- values -----------------------------------------------------------------------------------

static void values_inside_and_outside(void **state) {
    (void)state;
    static const struct {
        const char *schema, *in, *out;
    } cases[] = {
        {"{\"type\":\"integer\",\"minimum\":-3,\"maximum\":120}", "120", "121"},
        {"{\"type\":\"integer\",\"minimum\":-3,\"maximum\":120}", "-3", "-4"},
        {"{\"type\":\"integer\",\"exclusiveMinimum\":9,\"multipleOf\":5}", "10", "12"},
        {"{\"type\":\"number\",\"exclusiveMinimum\":0.5,\"maximum\":1e1}", "0.51", "0.50"},
        {"{\"type\":\"number\",\"exclusiveMinimum\":0.5,\"maximum\":1e1}", "10.000", "10.001"},
        {"{\"type\":\"number\",\"multipleOf\":0.25}", "-7.75", "7.8"},
        {"{\"type\":\"number\"}", "-0.5e-12", "01"},
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\u00e9\\n\\u0041\"", "\"a\""},
        {"{\"type\":\"string\",\"maxLength\":0}", "\"\"", "\"a\""},
        {"{\"type\":\"string\"}", "\"\\ud83d\\ude00\"", "\"\\ud83d\""},
        {"{\"type\":\"string\",\"pattern\":\"^[a-c]{2,3}$\"}", "\"abc\"", "\"abca\""},
        {"{\"type\":\"string\",\"pattern\":\"b+\"}", "\"xbby\"", "\"xy\""},
        {"{\"type\":\"string\",\"pattern\":\"^a\",\"maxLength\":2}", "\"ab\"", "\"abc\""},
        {"{\"type\":\"string\",\"pattern\":\"^[^a]$\"}", "\"\\\"\"", "\"a\""},
        {"{\"type\":\"string\",\"pattern\":\"^(a|b(c|d))+$\"}", "\"abcbda\"", "\"abab\""},
        {"{\"type\":\"string\",\"pattern\":\"^x{0}y{2,}$\"}", "\"yyyy\"", "\"y\""},
        {"{\"enum\":[1,\"a\",null,[1,{\"b\":2}]]}", "[1, {\"b\": 2}]", "[1, {\"b\": 3}]"},
        {"{\"enum\":[1,\"ab\",null],\"type\":\"string\"}", "\"ab\"", "1"},
        {"{\"enum\":[[1,2],[3]],\"minItems\":2}", "[1, 2]", "[3]"},
        {"{\"enum\":[[1,2],[3]],\"maxItems\":1}", "[3]", "[1, 2]"},
        {"{\"enum\":[[1,2],[4,4.0]],\"uniqueItems\":true}", "[1, 2]", "[4, 4.0]"},
        {"{\"enum\":[{\"a\":1,\"b\":2},{}],\"maxProperties\":1}", "{}", "{\"a\": 1, \"b\": 2}"},
        {"{\"enum\":[{\"a\":1},{}],\"minProperties\":1}", "{\"a\": 1}", "{}"},
        {"{\"enum\":[[1],[1,2]],\"not\":{\"minItems\":2}}", "[1]", "[1, 2]"},
        {"{\"type\":[\"number\",\"null\"],\"not\":{\"type\":\"integer\"}}", "null", "4"},
        {"{\"type\":\"array\",\"items\":{\"const\":1},\"minItems\":1,\"maxItems\":2}", "[1, 1]",
         "[1,1,1]"},
        {"{\"type\":\"array\",\"items\":{\"const\":1},\"minItems\":1,\"maxItems\":2}", "[1]", "[]"},
        {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":2}],\"items\":false}",
         "[1,2]", "[1,2,3]"},
        {"{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"enum\":[1,2]}}", "[2,1]", "[1,1]"},
        {"{\"properties\":{\"a\":{\"const\":1},\"b\":{}},\"type\":\"object\",\"required\":[\"a\"]}",
         "{\"b\": {}, \"a\": 1}", "{\"b\":1}"},
        {"{\"properties\":{\"a\":{\"const\":1}},\"type\":\"object\"}", "{\n  \"a\": 1\n}",
         "{\"a\":1,\"a\":1}"},
        {"{\"properties\":{\"a\":{}},\"type\":\"object\"}", "{}", "{\"b\":1}"},
        {"{\"properties\":{\"a\":{\"const\":1}},\"type\":\"object\","
         "\"additionalProperties\":{\"const\":2}}",
         "{\"ab\":2}", "{\"a\":2}"},
        {"{\"type\":\"object\",\"additionalProperties\":{\"const\":2},\"maxProperties\":1}",
         "{\"x\":2}", "{\"x\":2,\"y\":2}"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"minProperties\":2}",
         "{\"a\":0,\"b\":0}", "{\"a\":0}"},
        {"{\"anyOf\":[{\"const\":\"ab\"},{\"const\":\"ac\"}]}", "\"ac\"", "\"ad\""},
        {"{\"allOf\":[{\"type\":\"integer\",\"minimum\":3},{\"maximum\":5}]}", "4", "6"},
        {"{\"type\":\"object\",\"properties\":{\"k\":{},\"v\":{}},"
         "\"if\":{\"required\":[\"k\"]},\"then\":{\"required\":[\"v\"]}}",
         "{\"k\":1,\"v\":0}", "{\"k\":1}"},
        {"{\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}],\"type\":\"object\","
         "\"properties\":{\"a\":{},\"b\":{}}}",
         "{\"a\":1}", "{\"a\":1,\"b\":2}"},
        {"{\"type\":[\"integer\",\"null\"],\"not\":{\"type\":\"null\"}}", "12", "null"},
        {"{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"type\":\"array\",\"items\":"
         "{\"$ref\":\"#/$defs/t\"}}}}",
         "[[], [[]]]", "[1]"},
        {"{\"patternProperties\":{\"^n\":{\"const\":1}},\"properties\":{\"n1\":{},\"s\":{}},"
         "\"type\":\"object\"}",
         "{\"n1\":1,\"s\":5}", "{\"n1\":2}"},
        {"true", "{\"a\":[1,\"b\",{}]}", "{a:1}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!takes(cases[i].schema, cases[i].in))
            fail_msg("%s does not take %s", cases[i].schema, cases[i].in);
        if (takes(cases[i].schema, cases[i].out))
            fail_msg("%s takes %s", cases[i].schema, cases[i].out);
    }
}

// ---- the mask ---------------------------------------------------------------------------------

static const char walk_tools[] =
    "[{\"name\":\"get\",\"parameters\":{\"type\":\"object\",\"properties\":{"
    "\"city\":{\"type\":\"string\"},\"short\":{\"type\":\"string\",\"maxLength\":9},"
    "\"both\":{\"type\":[\"string\",\"integer\"],\"maximum\":7},\"list\":{\"type\":\"array\","
    "\"items\":{\"type\":\"string\",\"minLength\":1}},\"day\":{\"enum\":[\"mo\",\"tu\",3]}},"
    "\"required\":[\"city\"]}},{\"name\":\"any.thing\"}]";

static const struct request walks[] = {
    {.json_object = true},
    {.json_object = true, .start = GLINT_TURN_USER},
    {.schema =
         "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"age\":"
         "{\"type\":\"integer\",\"maximum\":120},\"note\":{\"type\":\"string\",\"minLength\":3,"
         "\"maxLength\":12}},\"required\":[\"name\",\"note\"],\"additionalProperties\":"
         "{\"type\":\"string\"}}",
     .start = GLINT_TURN_USER},
    {.schema = "{\"type\":\"array\",\"minItems\":3,\"items\":{\"type\":\"string\",\"pattern\":"
               "\"^[^/]+/\\\\w{1,9}$\"}}",
     .start = GLINT_TURN_USER},
    {.tools = walk_tools, .tool_choice = "required"},
    {.tools = walk_tools, .tool_choice = "get", .start = GLINT_TURN_TOOL, .start_tool = "get"},
    {.tools = walk_tools, .tool_choice = "any.thing"},
    {.tools = walk_tools, .has_budget = true, .budget = 3},
};

// Every token: allowed by the mask exactly when it is accepted.
static void check_mask(struct glint_constraint *constraint, uint32_t *mask) {
    int32_t n = glint_vocab_n_tokens(t.vocab);
    memcpy(mask, mask_of(constraint), t.space->n_words * sizeof *mask);
    for (int32_t id = 0; id < n; id++) {
        if (!glint_vocab_is_token(t.vocab, id))
            continue;
        bool accepted = glint_constraint_accept(constraint, id, NULL) == GLINT_OK;
        if (accepted)
            assert_int_equal(glint_constraint_rewind(constraint, 1, NULL), GLINT_OK);
        if (accepted != is_set(mask, id))
            fail_msg("token %d: mask %d, accepted %d", id, is_set(mask, id), accepted);
    }
    assert_memory_equal(mask, mask_of(constraint), t.space->n_words * sizeof *mask);
}

static int32_t pick(const uint32_t *mask, uint64_t *random) {
    int32_t n = glint_vocab_n_tokens(t.vocab);
    int32_t at = (int32_t)token_fixture_random(random, (uint32_t)n);
    // Long tokens are rarer among the first ids, so begin there half of the time.
    at = token_fixture_random(random, 2) ? at % 4000 : at;
    for (int32_t i = 0; i < n; i++)
        if (is_set(mask, (at + i) % n))
            return (at + i) % n;
    return -1;
}

static void the_mask_is_what_is_accepted(void **state) {
    (void)state;
    uint64_t random = 7;
    uint32_t *mask = malloc(t.space->n_words * sizeof *mask);
    assert_non_null(mask);
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) {
        for (int round = 0; round < 3; round++) {
            struct glint_constraint *constraint = open_request(&walks[i]);
            for (int step = 0; step < 40 && !glint_constraint_is_done(constraint); step++) {
                check_mask(constraint, mask);
                int32_t id = pick(mask, &random);
                assert_true(id >= 0); // nothing gets stuck
                assert_int_equal(glint_constraint_accept(constraint, id, NULL), GLINT_OK);
            }
            glint_constraint_close(&constraint);
        }
    }
    free(mask);
}

static void taking_back_restores(void **state) {
    (void)state;
    enum { N = 60 };
    uint64_t random = 3;
    size_t n_words = t.space->n_words;
    uint32_t *masks = malloc((N + 1) * n_words * sizeof *masks);
    int32_t ids[N];
    assert_non_null(masks);
    struct glint_constraint *constraint = open_request(&walks[2]);
    memcpy(masks, mask_of(constraint), n_words * sizeof *masks);
    int n = 0;
    for (; n < N && !glint_constraint_is_done(constraint); n++) {
        ids[n] = pick(masks + (size_t)n * n_words, &random);
        assert_int_equal(glint_constraint_accept(constraint, ids[n], NULL), GLINT_OK);
        memcpy(masks + (size_t)(n + 1) * n_words, mask_of(constraint), n_words * sizeof *masks);
    }
    for (int round = 0; round < 50; round++) {
        size_t back = token_fixture_random(&random, (uint32_t)n + 1);
        assert_int_equal(glint_constraint_rewind(constraint, back, NULL), GLINT_OK);
        for (size_t at = (size_t)n - back; at < (size_t)n; at++) {
            assert_memory_equal(mask_of(constraint), masks + at * n_words, n_words * sizeof *masks);
            assert_int_equal(glint_constraint_accept(constraint, ids[at], NULL), GLINT_OK);
        }
    }
    assert_int_equal(glint_constraint_rewind(constraint, (size_t)n + 1, NULL), GLINT_E_ARG);
    glint_constraint_close(&constraint);
    free(masks);
}

// Thousands of tokens: old states are forgotten, 256 can always be taken back.
static void long_outputs_forget(void **state) {
    (void)state;
    struct glint_constraint *constraint = open_schema("{\"type\":\"string\"}");
    assert_int_equal(say(constraint, "\""), 1);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(say(constraint, "a"), 1);
    assert_int_equal(glint_constraint_rewind(constraint, 256, NULL), GLINT_OK);
    assert_int_equal(say(constraint, "b\""), 2);
    assert_true(may_end(constraint));
    glint_constraint_close(&constraint);
}

// ---- turns ------------------------------------------------------------------------------------

static void put_special(struct glint_constraint *constraint, int32_t id, bool allowed) {
    assert_int_equal(is_set(mask_of(constraint), id), allowed);
    assert_int_equal(glint_constraint_accept(constraint, id, NULL),
                     allowed ? GLINT_OK : GLINT_E_ARG);
}

static void required_calls(void **state) {
    (void)state;
    const struct glint_dialect *d = glint_vocab_dialect(t.vocab);
    struct glint_constraint *c = open_request(&walks[4]);
    assert_int_equal(say(c, " to=user"), 4); // "u" is not how self or a tool begins
    assert_int_equal(say(c, "self"), 4);
    put_special(c, d->message, true);
    assert_int_equal(say(c, "free <atem:"), 11);
    put_special(c, d->eot, false);
    put_special(c, d->eom, true);
    put_special(c, d->eot, false);
    put_special(c, d->start, true);
    assert_int_equal(say(c, "assistant to=s"), 13); // once is enough
    assert_int_equal(say(c, "get"), 3);
    put_special(c, d->message, true);
    static const char open[] = "<atem:function_calls>\n<atem:invoke name=\"get\">\n";
    assert_int_equal(say(c, open), sizeof open - 1);
    assert_int_equal(say(c, "</"), 1); // the city is missing
    static const char city[] = "atem:parameter name=\"city\">a < b</atem:parameter>\n";
    assert_int_equal(say(c, city), sizeof city - 1);
    put_special(c, d->eot, false);
    static const char end[] = "</atem:invoke>\n</atem:function_calls>";
    assert_int_equal(say(c, end), sizeof end - 1);
    put_special(c, d->eom, true); // another call may follow
    put_special(c, d->start, true);
    assert_int_equal(say(c, "assistant to=any.thing"), 22);
    glint_constraint_close(&c);
}

static void budgets(void **state) {
    (void)state;
    const struct glint_dialect *d = glint_vocab_dialect(t.vocab);
    struct glint_constraint *c = open_request(&walks[7]);
    assert_int_equal(say(c, " to=self"), 8);
    put_special(c, d->message, true);
    assert_int_equal(say(c, "abcd"), 3); // three ids
    put_special(c, d->eom, true);
    put_special(c, d->start, true);
    assert_int_equal(say(c, "assistant to=self"), 13);
    assert_int_equal(glint_constraint_rewind(c, 16, NULL), GLINT_OK); // before "c"
    assert_int_equal(say(c, "xyz"), 1);
    put_special(c, d->eom, true);
    put_special(c, d->start, true);
    assert_int_equal(say(c, "assistant to=user"), 17);
    put_special(c, d->message, true);
    put_special(c, d->eot, true);
    assert_true(glint_constraint_is_done(c));
    glint_constraint_close(&c);
}

// ---- refusals ---------------------------------------------------------------------------------

static void check_refused(const struct request *request, enum glint_status status,
                          const char *text) {
    struct glint_constraint *constraint = NULL;
    struct glint_error err = {.status = GLINT_OK};
    enum glint_status found = open_with(request, &constraint, &err);
    if (found != status || !strstr(err.text, text))
        fail_msg("found %s: \"%s\", expected %s and \"%s\"", glint_status_name(found), err.text,
                 glint_status_name(status), text);
    assert_null(constraint);
}

static void schemas_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *schema;
        enum glint_status status;
        const char *text;
    } cases[] = {
        {"[]", GLINT_E_ARG, "schema#: expected a schema"},
        {"{\"type\":\"text\"}", GLINT_E_ARG, "schema#/type: expected null"},
        {"{\"properties\":{\"a\":{\"minimum\":\"3\"}}}", GLINT_E_ARG,
         "schema#/properties/a/minimum: expected a number"},
        {"{\"items\":{\"anyOf\":[]}}", GLINT_E_ARG, "schema#/items/anyOf: expected an array"},
        {"{\"$ref\":\"#\"}", GLINT_E_ARG, "schema#: the reference leads back"},
        {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},"
         "\"b\":{\"$ref\":\"#/$defs/a\"}}}",
         GLINT_E_ARG, "leads back to itself"},
        {"{\"$ref\":\"#/nowhere\"}", GLINT_E_NOTFOUND, "schema#/$ref: the reference leads nowhere"},
        {"{\"$ref\":\"https://example.com/s\"}", GLINT_E_NOTFOUND, "schema#/$ref"},
        {"{\"type\":\"object\",\"properties\":{\"next\":{\"$ref\":\"#\"}},"
         "\"required\":[\"next\"]}",
         GLINT_E_UNSUPPORTED, "schema#/properties/next: every value would contain another"},
        {"{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#\"}}", GLINT_E_UNSUPPORTED,
         "schema#"},
        {"{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":false}}",
         GLINT_E_UNSUPPORTED, "schema#/properties/a: no value satisfies this"},
        {"{\"type\":\"string\",\"enum\":[1]}", GLINT_E_UNSUPPORTED, "schema#: no value"},
        {"{\"type\":\"array\",\"contains\":{}}", GLINT_E_UNSUPPORTED,
         "schema#/contains: cannot be enforced"},
        {"{\"type\":\"array\",\"uniqueItems\":true}", GLINT_E_UNSUPPORTED,
         "schema#/uniqueItems: cannot be enforced unless"},
        {"{\"properties\":{\"a\":{\"pattern\":\"(?=a)\"}}}", GLINT_E_UNSUPPORTED,
         "schema#/properties/a/pattern: cannot be enforced: look-around at offset 0"},
        {"{\"pattern\":\"(a)\\\\1\"}", GLINT_E_UNSUPPORTED, "a back reference at offset 3"},
        {"{\"pattern\":\"(\"}", GLINT_E_FORMAT, "schema#/pattern: missing \")\" at offset 1"},
        {"{\"pattern\":\"a{2,1}\"}", GLINT_E_FORMAT, "out of order"},
        {"{\"pattern\":\"*\"}", GLINT_E_FORMAT, "nothing to repeat"},
        {"{\"oneOf\":[{\"type\":\"string\"},{\"minLength\":3}]}", GLINT_E_UNSUPPORTED,
         "schema#/oneOf/1: cannot be enforced: a value may satisfy"},
        {"{\"type\":\"string\",\"pattern\":\"^(a{1,900}){1,900}$\"}", GLINT_E_LIMIT,
         "schema#/pattern"},
        {"{\"type\":\"number\",\"multipleOf\":0}", GLINT_E_ARG, "schema#/multipleOf"},
        {"{\"type\":\"number\",\"not\":{\"type\":\"integer\"}}", GLINT_E_UNSUPPORTED,
         "schema#/not: cannot be enforced"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(&(struct request){.schema = cases[i].schema}, cases[i].status, cases[i].text);
}

// A chain of definitions, each with a member of the next one's kind.
static void deep_schemas_are_refused(void **state) {
    (void)state;
    struct glint_buffer text = {.data = NULL};
    for (int i = 0; i < 5000; i++)
        glint_buffer_append_text(&text, "{\"items\":");
    glint_buffer_append_text(&text, "{}");
    for (int i = 0; i < 5000; i++)
        glint_buffer_append_text(&text, "}");
    check_refused(&(struct request){.schema = text.data}, GLINT_E_LIMIT, "line 1");
    glint_buffer_clear(&text);
    glint_buffer_append_text(&text, "{\"$ref\":\"#/$defs/0\",\"$defs\":{");
    for (int i = 0; i < 4900; i++)
        glint_buffer_printf(&text,
                            "\"%d\":{\"type\":\"array\",\"minItems\":1,"
                            "\"items\":{\"$ref\":\"#/$defs/%d\"}},",
                            i, i + 1);
    glint_buffer_append_text(&text, "\"4900\":{\"type\":\"null\"}}}");
    check_refused(&(struct request){.schema = text.data}, GLINT_E_UNSUPPORTED,
                  "nested more than 100 deep");
    glint_buffer_fini(&text);
}

static void requests_that_are_refused(void **state) {
    (void)state;
    static const char bad_name[] = "[{\"name\":\"a\"},{\"name\":\"a b\"}]";
    static const char bad_key[] = "[{\"name\":\"a\",\"parameters\":{\"properties\":{\"x>\":{}}}}]";
    static const char bad_schema[] =
        "[{\"name\":\"a\",\"parameters\":{\"properties\":{\"x\":{\"type\":\"array\","
        "\"contains\":{}}}}}]";
    static const struct {
        struct request request;
        const char *text;
    } cases[] = {
        {{.tool_choice = "required"}, "there are no tools"},
        {{.tools = walk_tools, .tool_choice = "got"}, "found \"got\", expected auto, none"},
        {{.tools = bad_name}, "tools[1].function.name"},
        {{.tools = bad_key}, "tools[0].function.parameters#/properties/x>"},
        {{.tools = bad_schema}, "tools[0].function.parameters#/properties/x/contains"},
        {{.tools = walk_tools, .tool_choice = "required", .start = GLINT_TURN_USER},
         "the turn begins in an answer"},
        {{.tools = walk_tools, .start = GLINT_TURN_TOOL, .start_tool = "got"}, "\"got\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct glint_constraint *constraint = NULL;
        struct glint_error err = {.status = GLINT_OK};
        assert_int_not_equal(open_with(&cases[i].request, &constraint, &err), GLINT_OK);
        if (!strstr(err.text, cases[i].text))
            fail_msg("found \"%s\", expected \"%s\"", err.text, cases[i].text);
    }
}

// ---- memory -----------------------------------------------------------------------------------

static enum glint_status whole_life(void *context, struct glint_error *err) {
    struct glint_constraint *constraint = NULL;
    const uint32_t *mask;
    enum glint_status status = open_with(context, &constraint, err);
    glint_lex_tables_fini(&t.space->tables); // made again, and given back below
    for (int i = 0; i < 4 && status == GLINT_OK; i++) {
        status = glint_constraint_mask(constraint, &mask, err);
        int32_t id = glint_vocab_find(t.vocab, (struct glint_view){"{\"a\"" + i, 1});
        if (status == GLINT_OK)
            status = glint_constraint_accept(constraint, id, err);
    }
    glint_constraint_close(&constraint);
    glint_lex_tables_fini(&t.space->tables);
    return status;
}

static void memory_may_run_out(void **state) {
    (void)state;
    struct request request = {
        .schema = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"pattern\":"
                  "\"^[x-z]$\"},\"b\":{\"oneOf\":[{\"type\":\"integer\",\"minimum\":2},"
                  "{\"enum\":[\"q\"]}]}},\"additionalProperties\":{\"type\":\"array\"}}",
        .start = GLINT_TURN_USER};
    glint_lex_tables_fini(&t.space->tables);
    assert_true(glint_fault_each(whole_life, &request) > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_inside_and_outside),
        cmocka_unit_test(the_mask_is_what_is_accepted),
        cmocka_unit_test(taking_back_restores),
        cmocka_unit_test(long_outputs_forget),
        cmocka_unit_test(required_calls),
        cmocka_unit_test(budgets),
        cmocka_unit_test(schemas_that_are_refused),
        cmocka_unit_test(deep_schemas_are_refused),
        cmocka_unit_test(requests_that_are_refused),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
