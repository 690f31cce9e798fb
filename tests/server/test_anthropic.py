# SPDX-License-Identifier: Apache-2.0
"""test_anthropic.py: Anthropic's messages with the demo model, whole and streamed; refusals."""
import http.client
import json
import os
import unittest

from serving import ROOT, Server

FUNCTIONS = json.load(open(os.path.join(ROOT, "tools/demo/weather.json"), encoding="utf-8"))
WEATHER = [{"name": f["function"]["name"], "description": f["function"].get("description", ""),
            "input_schema": f["function"]["parameters"]} for f in FUNCTIONS]
QUESTION = [{"role": "user", "content": "What is 47 + 38?"}]
OSLO = [{"role": "user", "content": [{"type": "text", "text": "What is the weather in Oslo?"}]}]


def events_of(answer):
    """(event, data) pairs of a stream."""
    name = None
    for line in answer:
        line = line.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            data = json.loads(line[6:])
            assert data["type"] == name
            yield data


def join(events):
    """The stream's message, put together with every rule of the order checked."""
    message, block, text, stopped = None, None, "", False
    for event in events:
        kind = event["type"]
        assert not stopped
        if kind == "message_start":
            assert message is None
            message = event["message"]
            assert message["content"] == [] and message["stop_reason"] is None
            assert message["usage"]["input_tokens"] > 0
        elif kind == "content_block_start":
            assert block is None and event["index"] == len(message["content"])
            block, text = event["content_block"], ""
            message["content"].append(block)
        elif kind == "content_block_delta":
            assert event["index"] == len(message["content"]) - 1
            delta = event["delta"]
            pairs = {"text_delta": "text", "thinking_delta": "thinking",
                     "signature_delta": "signature"}
            if delta["type"] == "input_json_delta":
                text += delta["partial_json"]
            else:
                block[pairs[delta["type"]]] += delta[pairs[delta["type"]]]
        elif kind == "content_block_stop":
            assert event["index"] == len(message["content"]) - 1
            if block["type"] == "tool_use":
                assert block["input"] == {}
                block["input"] = json.loads(text)
            block = None
        elif kind == "message_delta":
            assert block is None
            message.update(event["delta"])
            message["usage"] = event["usage"]
        elif kind == "message_stop":
            stopped = True
        else:
            assert kind == "ping", kind
    assert stopped
    return message


def comparable(message):
    blocks = [{**b, "id": ""} if "id" in b else b for b in message["content"]]
    return blocks, message["stop_reason"], message["usage"]["output_tokens"]


class Anthropic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--api-key", "key")

    @classmethod
    def tearDownClass(cls):
        status, said = cls.server.stop()
        assert status == 0, said

    def ask(self, expect=200, path="/v1/messages", **fields):
        body = {"model": "claude", "max_tokens": 300, "messages": QUESTION, "temperature": 0,
                **fields}
        return self.server.ask(path, body, {"x-api-key": "key", "anthropic-version": "2023-06-01"},
                               expect)

    def stream(self, **fields):
        body = {"model": "claude", "max_tokens": 300, "messages": QUESTION, "temperature": 0,
                "stream": True, **fields}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        connection.request("POST", "/v1/messages?beta=true", json.dumps(body),
                           {"Authorization": "Bearer key"})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.headers["request-id"])
        message = join(events_of(answer))
        connection.close()
        return message

    def test_whole(self):
        message = self.ask()
        self.assertEqual((message["type"], message["role"], message["model"]),
                         ("message", "assistant", "claude"))
        self.assertEqual([b["type"] for b in message["content"]], ["thinking", "text"])
        self.assertIn("85", message["content"][1]["text"])
        self.assertEqual((message["stop_reason"], message["stop_sequence"]), ("end_turn", None))

    def test_stream_equals_whole(self):
        for fields in ({}, {"messages": OSLO, "tools": WEATHER}, {"max_tokens": 4},
                       {"stop_sequences": ["85"]}):
            self.assertEqual(comparable(self.stream(**fields)), comparable(self.ask(**fields)))

    def test_tool_round_trip(self):
        message = self.ask(messages=OSLO, tools=WEATHER)
        self.assertEqual(message["stop_reason"], "tool_use")
        call = message["content"][-1]
        self.assertEqual((call["type"], call["name"], call["input"]),
                         ("tool_use", "get_weather", {"city": "Oslo"}))
        history = OSLO + [
            {"role": "assistant", "content": message["content"]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call["id"],
                 "content": [{"type": "text", "text": "12 degrees and rain"}]}]}]
        again = self.ask(messages=history, tools=WEATHER)
        self.assertEqual(again["stop_reason"], "end_turn")
        usage = again["usage"]
        self.assertGreater(usage["cache_read_input_tokens"], 400)
        counted = self.ask(path="/v1/messages/count_tokens", messages=history, tools=WEATHER)
        self.assertEqual(counted["input_tokens"],
                         usage["input_tokens"] + usage["cache_read_input_tokens"])

    def test_limits(self):
        self.assertEqual(self.ask(max_tokens=3)["stop_reason"], "max_tokens")
        message = self.ask(stop_sequences=["85"])
        self.assertEqual((message["stop_reason"], message["stop_sequence"]),
                         ("stop_sequence", "85"))
        self.assertNotIn("85", message["content"][-1]["text"])
        message = self.ask(stop_sequences=["never", "85", "84"])  # the one that came is told
        self.assertEqual((message["stop_reason"], message["stop_sequence"]),
                         ("stop_sequence", "85"))

    def test_forced_and_prefilled(self):
        message = self.ask(tools=WEATHER, tool_choice={"type": "tool", "name": "get_weather"})
        self.assertEqual(message["stop_reason"], "tool_use")
        message = self.ask(messages=QUESTION + [{"role": "assistant", "content": "47 + 38 ="}])
        self.assertEqual([b["type"] for b in message["content"]], ["text"])
        self.assertIn("85", message["content"][0]["text"])
        message = self.ask(thinking={"type": "enabled", "budget_tokens": 3})
        self.assertEqual(message["stop_reason"], "end_turn")

    def test_same_prompt_as_openai(self):
        key = {"x-api-key": "key"}
        system = "x-anthropic-billing-header: cc_version=2; cch=a5145;\nBe brief."
        counts = []
        for noise in ("a5145", "00000"):
            counts.append(self.ask(system=system.replace("a5145", noise), max_tokens=1)["usage"])
        self.assertEqual(counts[1]["input_tokens"], 1)  # the digits do not count
        body = {"messages": [{"role": "system", "content": "A\nB"}] + QUESTION}
        tokens = self.server.ask("/tokenize", body, key)["count"]
        blocks = [{"type": "text", "text": "A", "cache_control": {"type": "ephemeral"}},
                  {"type": "text", "text": "B"}]
        self.assertEqual(self.ask(path="/v1/messages/count_tokens", system=blocks)["input_tokens"],
                         tokens)

    def refused(self, status=400, **fields):
        answer = self.ask(expect=status, **fields)
        self.assertEqual(answer["type"], "error")
        self.assertTrue(answer["error"]["message"])
        return answer["error"]["type"]

    def test_refusals(self):
        self.assertEqual(self.refused(max_tokens=None), "invalid_request_error")
        error = self.ask(expect=400, thread={"type": "create"})["error"]
        self.assertEqual(error["details"], {"error_code": "thread_unsupported_request"})
        for fields in ({"messages": []}, {"messages": [{"role": "alien", "content": "x"}]},
                       {"messages": [{"role": "user", "content": [7]}]},
                       {"messages": [{"role": "user", "content": [{"type": "smell"}]}]},
                       {"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]},
                       {"messages": [{"role": "assistant", "content": [{"type": "tool_use"}]}]},
                       {"system": 7}, {"tools": 7}, {"tool_choice": {"type": "x"}},
                       {"tool_choice": {"type": "any"}}, {"stream": 1}, {"stop_sequences": [""]},
                       {"mcp_servers": [{"url": "x"}]},
                       {"messages": [{"role": "user", "content": [
                           {"type": "image", "source": {"type": "base64", "data": "AA"}}]}]},
                       {"messages": [{"role": "user", "content": "word " * 9000}]}):
            self.refused(**fields)
        body = json.dumps({"messages": QUESTION, "max_tokens": 1})
        status, _, data = self.server.send("POST", "/v1/messages", body)
        self.assertEqual((status, json.loads(data)["error"]["type"]), (401, "authentication_error"))
        # Tools of Anthropic's own servers are left out.
        self.ask(tools=[{"type": "web_search_20250305", "name": "web_search"}], max_tokens=1)


if __name__ == "__main__":
    unittest.main()
