# SPDX-License-Identifier: Apache-2.0
"""test_responses.py: OpenAI's responses with the demo model, whole and streamed; refusals."""
import json
import os
import unittest

from serving import ROOT, Server, join_message, join_response

FUNCTIONS = json.load(open(os.path.join(ROOT, "tools/demo/weather.json"), encoding="utf-8"))
WEATHER = [{"type": "function", "strict": True, **f["function"]} for f in FUNCTIONS]
SUM = "What is 47 + 38?"
OSLO = "What is the weather in Oslo?"


def text_of(response):
    return "".join(part["text"] for item in response["output"] if item["type"] == "message"
                   for part in item["content"])


def reasoning_of(response, where="content"):
    return "".join(part["text"] for item in response["output"] if item["type"] == "reasoning"
                   for part in item[where])


def calls_of(response):
    return [(item["name"], json.loads(item["arguments"])) for item in response["output"]
            if item["type"] == "function_call"]


def without_ids(response):
    items = [{k: v for k, v in item.items() if k not in ("id", "call_id")}
             for item in response["output"]]
    usage = {k: v for k, v in response["usage"].items() if k != "input_tokens_details"}
    return items, response["status"], response["incomplete_details"], usage


class Responses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--current-date", "2026-11-30")

    @classmethod
    def tearDownClass(cls):
        status, said = cls.server.stop()
        assert status == 0, said

    def create(self, said, **fields):
        body = {"input": said, "temperature": 0, "max_output_tokens": 300, **fields}
        return self.server.ask("/v1/responses", body)

    def refused(self, param, status=400, **fields):
        body = {"input": SUM, "max_output_tokens": 4, **fields}
        error = self.server.ask("/v1/responses", body, expect=status)["error"]
        self.assertEqual(error["param"], param, error)
        self.assertTrue(error["message"].startswith(param), error)

    def test_whole(self):
        answer = self.create(SUM, model="any/name:1", metadata={"a": "b"}, instructions="Add.",
                             prompt_cache_key="k", user="u", service_tier="auto", unknown=[1])
        self.assertEqual(answer["object"], "response")
        self.assertEqual(answer["status"], "completed")
        self.assertEqual([i["type"] for i in answer["output"]], ["reasoning", "message"])
        self.assertIn("85", text_of(answer))
        self.assertTrue(reasoning_of(answer))
        for name, value in (("model", "any/name:1"), ("metadata", {"a": "b"}), ("tools", []),
                            ("instructions", "Add."), ("error", None), ("store", False),
                            ("prompt_cache_key", "k"), ("previous_response_id", None)):
            self.assertEqual(answer[name], value, name)
        usage = answer["usage"]
        self.assertEqual(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"])
        reasoned = usage["output_tokens_details"]["reasoning_tokens"]
        self.assertTrue(0 < reasoned < usage["output_tokens"])

    def test_stream_equals_whole(self):
        for fields in ({}, {"input": OSLO, "tools": WEATHER}, {"max_output_tokens": 5},
                       {"reasoning": {"summary": "auto", "effort": "low"}},
                       {"top_logprobs": 2, "include": ["message.output_text.logprobs"]}):
            body = {"input": SUM, "temperature": 0, "max_output_tokens": 300, **fields}
            whole = self.server.ask("/responses", body)
            streamed = join_response(self.server.stream("/v1/responses", {**body, "stream": True}))
            self.assertEqual(without_ids(streamed), without_ids(whole))

    def test_summary(self):
        plain = self.create(SUM)
        summed = self.create(SUM, reasoning={"summary": "detailed"})
        self.assertEqual(reasoning_of(plain), reasoning_of(summed, "summary"))
        self.assertEqual(reasoning_of(summed), "")
        self.assertEqual(reasoning_of(plain, "summary"), "")

    def test_cut_off(self):
        answer = self.create(SUM, max_output_tokens=3)
        self.assertEqual(answer["status"], "incomplete")
        self.assertEqual(answer["incomplete_details"], {"reason": "max_output_tokens"})
        self.assertEqual(answer["usage"]["output_tokens"], 3)
        self.assertTrue(all(item["status"] == "incomplete" for item in answer["output"]))

    def test_round_trip(self):
        first = self.create(OSLO, tools=WEATHER)
        self.assertEqual(calls_of(first), [("get_weather", {"city": "Oslo"})])
        call = first["output"][-1]
        for output in ("12 degrees and rain",
                       [{"type": "input_text", "text": "12 degrees and rain"}]):
            respelled = {**call, "arguments": json.dumps(json.loads(call["arguments"]), indent=4)}
            items = [{"role": "user", "content": OSLO}, *first["output"][:-1], respelled,
                     {"type": "function_call_output", "call_id": call["call_id"],
                      "output": output}]
            second = self.create(items, tools=WEATHER)
            self.assertEqual(second["status"], "completed")
            self.assertTrue(text_of(second))
            cached = second["usage"]["input_tokens_details"]["cached_tokens"]
            self.assertGreaterEqual(cached, first["usage"]["total_tokens"] - 1)

    def test_as_many_tokens_as_chat(self):
        """The same conversation is the same prompt in both protocols."""
        tools = {"tools": FUNCTIONS}
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": OSLO},
                    {"role": "assistant", "content": None, "reasoning_content": "Two calls.",
                     "tool_calls": [
                         {"id": "c%d" % i, "type": "function",
                          "function": {"name": "get_weather", "arguments": '{"city": "%s"}' % city}}
                         for i, city in enumerate(("Oslo", "Rome"))]},
                    {"role": "tool", "tool_call_id": "c0", "content": "rain"},
                    {"role": "tool", "tool_call_id": "c1", "content": "sun"},
                    {"role": "assistant", "content": "Rain."},
                    {"role": "user", "content": "Thanks"}]
        chat = self.server.chat(messages, max_tokens=1, **tools)
        items = [{"type": "message", "role": "user", "id": "m1",
                  "content": [{"type": "input_text", "text": OSLO}]},
                 {"type": "reasoning", "id": "r1", "summary": [],
                  "content": [{"type": "reasoning_text", "text": "Two calls."}]},
                 *({"type": "function_call", "call_id": "c%d" % i, "name": "get_weather",
                    "arguments": '{"city": "%s"}' % city} for i, city in enumerate(("Oslo",
                                                                                    "Rome"))),
                 {"type": "function_call_output", "call_id": "c0", "output": "rain"},
                 {"type": "function_call_output", "call_id": "c1", "output": "sun"},
                 {"role": "assistant", "content": [{"type": "output_text", "text": "Rain."}]},
                 {"role": "user", "content": "Thanks"}]
        expected = chat["usage"]["prompt_tokens"]
        for system in ({"instructions": "Be brief.", "input": items},
                       {"input": [{"role": "developer", "content": "Be brief."}, *items]}):
            body = {**system, "tools": WEATHER}
            count = self.server.ask("/v1/responses/input_tokens", body)
            self.assertEqual(count, {"object": "response.input_tokens", "input_tokens": expected})
            answer = self.server.ask("/v1/responses", {**body, "max_output_tokens": 1})
            self.assertEqual(answer["usage"]["input_tokens"], expected)

    def test_sealed_reasoning(self):
        answer = self.create(SUM, store=False, include=["reasoning.encrypted_content"])
        reasoning, message = answer["output"]
        user = {"role": "user", "content": SUM}
        ways = [{**reasoning, "encrypted_content": None}, {**reasoning, "content": None},
                {**reasoning, "content": [], "summary": [{"type": "summary_text", "text": "x"}]}]
        counts = {self.server.ask("/v1/responses/input_tokens", {"input": [
            user, {k: v for k, v in way.items() if v is not None}, message, user]})["input_tokens"]
            for way in ways}
        self.assertEqual(len(counts), 1)
        without = self.server.ask("/v1/responses/input_tokens", {"input": [user, message, user]})
        self.assertGreater(counts.pop(), without["input_tokens"])

    def test_tool_choice(self):
        other = {**WEATHER[0], "name": "other"}
        both = [*WEATHER, other]
        self.assertEqual(calls_of(self.create(OSLO, tools=WEATHER, tool_choice="none")), [])
        named = {"type": "function", "name": "get_weather"}
        for choice in ("required", named):
            answer = self.create("Who are you?", tools=WEATHER, tool_choice=choice)
            self.assertEqual(calls_of(answer)[0][0], "get_weather")
        allowed = {"type": "allowed_tools", "mode": "required", "tools": [
            {"type": "function", "name": "other"}]}
        answer = self.create(OSLO, tools=both, tool_choice=allowed)
        self.assertEqual({name for name, _ in calls_of(answer)}, {"other"})
        self.assertEqual(answer["usage"]["input_tokens"],  # the prompt has both
                         self.create(OSLO, tools=both)["usage"]["input_tokens"])
        allowed["tools"][0]["name"] = "nope"
        self.refused("tool_choice", tools=both, tool_choice=allowed)

    def test_one_call(self):
        cities = "What is the weather in Oslo and in Rome?"
        answer = self.create(cities, tools=WEATHER, parallel_tool_calls=False,
                             tool_choice="required")
        self.assertEqual(len(calls_of(answer)), 1)

    def test_json_answer(self):
        schema = {"type": "object", "required": ["sum"], "additionalProperties": False,
                  "properties": {"sum": {"type": "integer", "minimum": 0, "maximum": 999}}}
        answer = self.create(SUM, text={"format": {"type": "json_schema", "name": "x",
                                                   "strict": True, "schema": schema}})
        self.assertEqual(list(json.loads(text_of(answer))), ["sum"])
        answer = self.create(SUM, text={"format": {"type": "json_object"}},  # may go on and on
                             max_output_tokens=60, reasoning={"effort": "low"})
        self.assertTrue(text_of(answer).startswith("{"))

    def test_logprobs(self):
        answer = self.create(SUM, top_logprobs=3)
        part = answer["output"][-1]["content"][0]
        self.assertEqual("".join(t["token"] for t in part["logprobs"]), part["text"])
        self.assertTrue(all(len(t["top_logprobs"]) == 3 for t in part["logprobs"]))
        self.assertEqual(self.create(SUM)["output"][-1]["content"][0]["logprobs"], [])

    def test_what_codex_sends(self):
        def said(role, text):
            return {"type": "message", "role": role, "id": "msg_" + role,
                    "content": [{"type": "input_text", "text": text}]}
        body = {"model": "m", "instructions": "You are a coding agent.", "input": [
            said("developer", "<permissions>none</permissions>"), said("user", "<env/>"),
            said("user", SUM)], "tools": [
                *WEATHER, {"type": "namespace", "name": "multi_agent_v1", "tools": []},
                {"type": "web_search", "external_web_access": False},
                {"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}}],
                "tool_choice": "auto", "parallel_tool_calls": True,
                "reasoning": {"summary": "auto"}, "store": False, "stream": True,
                "include": ["reasoning.encrypted_content"], "prompt_cache_key": "abc",
                "client_metadata": {"x": "y"}, "temperature": 0, "max_output_tokens": 60,
                "text": {"verbosity": "low"}}
        headers = {"Accept": "text/event-stream", "Accept-Encoding": "zstd,gzip"}
        answer = join_response(self.server.stream("/v1/responses", body, headers))
        self.assertTrue(answer["output"])
        self.assertTrue(any("unknown here: namespace, web_search, custom" in line
                            for line in self.server.lines))
        past = [{"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*"},
                {"type": "custom_tool_call_output", "call_id": "c", "output": "done"},
                {"type": "web_search_call", "id": "ws_1", "status": "completed"}]
        body["input"] += past
        join_response(self.server.stream("/v1/responses", body, headers))

    def test_refusals(self):
        self.refused("background", background=True)
        self.refused("conversation", conversation="conv_1")
        self.refused("input", input=[])
        self.refused("input", input=5)
        self.refused("input[1].role", input=[{"role": "user", "content": ""}, {"role": "cat"}])
        self.refused("input[0].content[1]", input=[{"role": "user", "content": [
            {"type": "input_text", "text": ""}, {"type": "input_file", "file_id": "f"}]}])
        self.refused("input[0].call_id", input=[{"type": "function_call_output",
                                                 "call_id": "x", "output": ""}])
        self.refused("input[0].arguments", input=[{"type": "function_call", "call_id": "x",
                                                   "name": "f", "arguments": "[1]"}])
        self.refused("input[0].id", input=[{"type": "item_reference", "id": "rs_1"}])
        self.refused("input[0].type", input=[{"type": 1}])
        self.refused("instructions", instructions=["x"])
        self.refused("previous_response_id", previous_response_id="resp_1")
        self.refused("tools", tools={})
        self.refused("tool_choice", tool_choice="required")
        self.refused("tool_choice", tools=WEATHER, tool_choice={"type": "web_search"})
        self.refused("text.format", text={"format": {"type": "xml"}})
        self.refused("top_logprobs", top_logprobs=21)
        self.refused("max_output_tokens", max_output_tokens=0)
        self.refused("temperature", temperature="1")
        self.refused("truncation", truncation="some")
        self.refused("metadata", metadata=[])
        body = {"input": "x " * 20000}
        error = self.server.ask("/v1/responses", body, expect=400)["error"]
        self.assertEqual((error["code"], error["param"]), ("context_length_exceeded", "input"))

    def test_truncation(self):
        turns = [item for i in range(9) for item in (
            {"role": "user", "content": "%d " % i * 700}, {"role": "assistant", "content": "Yes."})]
        items = [{"role": "system", "content": "Be brief."}, *turns,
                 {"role": "user", "content": SUM}]
        error = self.server.ask("/v1/responses", {"input": items}, expect=400)["error"]
        self.assertEqual(error["code"], "context_length_exceeded")
        path = "/v1/responses/input_tokens"
        count = self.server.ask(path, {"input": items, "truncation": "auto"})["input_tokens"]
        shorter = [items[0], *items[9:]]  # four turns fewer
        self.assertEqual(count, self.server.ask(path, {"input": shorter})["input_tokens"])
        self.assertLess(count, error["n_ctx"] * 7 / 8)
        few = {"input": items[-1:], "truncation": "auto"}
        self.assertLess(self.server.ask(path, few)["input_tokens"], 100)
        long = {"input": "x " * 9000, "truncation": "auto"}
        error = self.server.ask("/v1/responses", long, expect=400)["error"]
        self.assertEqual(error["code"], "context_length_exceeded")

    def test_paths(self):
        for method, path, status in (("GET", "/v1/responses/resp_1", 404),
                                     ("DELETE", "/v1/responses/resp_1", 404),
                                     ("POST", "/v1/responses/resp_1/cancel", 404),
                                     ("GET", "/v1/responses", 405)):
            got, _, data = self.server.send(method, path)
            self.assertEqual(got, status, path)
            self.assertIn("message", json.loads(data)["error"])

    def test_chat_has_the_same_answer(self):
        message, _, _ = join_message(self.server.chat(SUM))
        answer = self.create(SUM)
        self.assertEqual(text_of(answer), message["content"])
        self.assertEqual(reasoning_of(answer), message["reasoning"])


if __name__ == "__main__":
    unittest.main()
