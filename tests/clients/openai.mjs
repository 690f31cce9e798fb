// SPDX-License-Identifier: Apache-2.0
// openai.mjs: the `openai` package: chat completions, responses, completions, embeddings, models.
import assert from 'node:assert/strict';
import test from 'node:test';
import OpenAI from 'openai';
import {
    BASE, KEY, OSLO, PICTURE, PICTURE_QUESTION, RESULT, SUM, SUM_SCHEMA, WEATHER, idle,
} from './asked.mjs';

const client = new OpenAI({ baseURL: `${BASE}/v1`, apiKey: KEY, maxRetries: 0 });
const asked = (content, more) => ({
    model: 'any', temperature: 0, max_tokens: 300, messages: [{ role: 'user', content }], ...more,
});
const TOOLS = [{ type: 'function', function: WEATHER }];

test('chat', async () => {
    const answer = await client.chat.completions.create(asked(SUM));
    const [choice] = answer.choices;
    assert.match(choice.message.content, /85/);
    assert.equal(choice.finish_reason, 'stop');
    assert.ok(choice.message.reasoning_content.length > 0);
    assert.ok(answer._request_id);
    assert.equal(answer.usage.total_tokens,
        answer.usage.prompt_tokens + answer.usage.completion_tokens);
});

test('stream, raw and put together by the client, equals the whole answer', async () => {
    const whole = (await client.chat.completions.create(asked(SUM))).choices[0].message;
    let content = '';
    let usage = null;
    const options = { stream: true, stream_options: { include_usage: true } };
    for await (const chunk of await client.chat.completions.create(asked(SUM, options))) {
        content += chunk.choices[0]?.delta.content ?? '';
        usage = chunk.usage ?? usage;
    }
    assert.equal(content, whole.content);
    assert.ok(usage.completion_tokens > 0);
    const deltas = [];
    const joined = await client.chat.completions.stream(asked(SUM))
        .on('content', (delta) => deltas.push(delta)).finalChatCompletion();
    assert.equal(joined.choices[0].message.content, whole.content);
    assert.equal(deltas.join(''), whole.content);
    assert.ok(deltas.length > 1);
});

test('tools: whole, streamed, and a round trip by the client', async () => {
    const body = asked(OSLO, { tools: TOOLS });
    const whole = await client.chat.completions.create(body);
    assert.equal(whole.choices[0].finish_reason, 'tool_calls');
    const [call] = whole.choices[0].message.tool_calls;
    assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Oslo' });
    const joined = await client.chat.completions.stream(body).finalChatCompletion();
    assert.equal(joined.choices[0].message.tool_calls[0].function.arguments,
        call.function.arguments);
    for (const stream of [false, true]) {
        const cities = [];
        const tool = {
            ...WEATHER, parse: JSON.parse,
            function: ({ city }) => {
                cities.push(city);
                return RESULT;
            },
        };
        const runner = client.chat.completions.runTools(
            asked(OSLO, { stream, tools: [{ type: 'function', function: tool }] }));
        assert.match(await runner.finalContent(), /12/);
        assert.deepEqual(cities, ['Oslo']);
    }
    const forced = await client.chat.completions.create(asked('Who are you?', {
        tools: TOOLS, tool_choice: 'required',
    }));
    assert.equal(forced.choices[0].message.tool_calls[0].function.name, 'get_weather');
});

test('JSON schema', async () => {
    const response_format = {
        type: 'json_schema', json_schema: { name: 'sum', strict: true, schema: SUM_SCHEMA },
    };
    const answer = await client.chat.completions.parse(asked(SUM, { response_format }));
    assert.deepEqual(Object.keys(answer.choices[0].message.parsed), ['sum']);
    assert.equal(typeof answer.choices[0].message.parsed.sum, 'number');
});

test('pictures', async () => {
    const url = `data:image/png;base64,${PICTURE.toString('base64')}`;
    const answer = await client.chat.completions.create(asked([
        { type: 'image_url', image_url: { url, detail: 'auto' } },
        { type: 'text', text: PICTURE_QUESTION },
    ]));
    assert.match(answer.choices[0].message.content, /circle|square|triangle/);
    assert.ok(answer.usage.prompt_tokens_details.image_tokens > 0);
});

test('log-probabilities and choices', async () => {
    const answer = await client.chat.completions.create(
        asked(SUM, { logprobs: true, top_logprobs: 2, n: 2 }));
    assert.equal(answer.choices.length, 2);
    for (const { message, logprobs } of answer.choices) {
        assert.ok(logprobs.content.every((token) => token.top_logprobs.length === 2));
        assert.equal(logprobs.content.map((token) => token.token).join(''), message.content);
    }
});

test('errors are the classes that the client has for them', async () => {
    const create = (body, from = client) => from.chat.completions.create(body);
    const stranger = new OpenAI({ baseURL: `${BASE}/v1`, apiKey: 'wrong', maxRetries: 0 });
    await assert.rejects(create(asked(SUM), stranger), (error) =>
        error instanceof OpenAI.AuthenticationError && error.code === 'invalid_api_key');
    await assert.rejects(create(asked(SUM, { temperature: -1 })), (error) =>
        error instanceof OpenAI.BadRequestError && error.param === 'temperature');
    await assert.rejects(create(asked('word '.repeat(9000))), (error) =>
        error instanceof OpenAI.BadRequestError && error.code === 'context_length_exceeded' &&
        /8192/.test(error.message));
    await assert.rejects(client.get('/nowhere'), OpenAI.NotFoundError);
    await assert.rejects(create(asked(SUM, { stream: true, n: -1 })), OpenAI.BadRequestError);
});

test('abort ends the work', async () => {
    const stream = await client.chat.completions.create(
        asked('Who are you?', { stream: true, max_tokens: 7000, ignore_eos: true }));
    let n = 0;
    for await (const chunk of stream) {
        n += chunk.choices.length;
        if (n === 5) {
            stream.controller.abort();
        }
    }
    await idle();
    const aborter = new AbortController();
    const whole = client.chat.completions.create(
        asked('Who are you?', { max_tokens: 7000, ignore_eos: true }), { signal: aborter.signal });
    setTimeout(() => aborter.abort(), 300);
    await assert.rejects(whole, OpenAI.APIUserAbortError);
    await idle();
});

test('responses: whole, streamed, tools with a round trip, going on from an id', async () => {
    const ask = { model: 'any', temperature: 0, max_output_tokens: 300, input: SUM };
    const whole = await client.responses.create(ask);
    assert.equal(whole.status, 'completed');
    assert.match(whole.output_text, /85/);
    const stream = client.responses.stream(ask);
    let text = '';
    stream.on('response.output_text.delta', (event) => { text += event.delta; });
    const joined = await stream.finalResponse();
    assert.equal(joined.output_text, whole.output_text);
    assert.equal(text, whole.output_text);

    const tools = [{ type: 'function', strict: false, ...WEATHER }];
    const first = await client.responses.create({ ...ask, input: OSLO, tools });
    const call = first.output.find((item) => item.type === 'function_call');
    assert.deepEqual(JSON.parse(call.arguments), { city: 'Oslo' });
    const input = [{
        type: 'function_call_output', call_id: call.call_id, output: RESULT,
    }];
    const body = { ...ask, input, tools, previous_response_id: first.id };
    assert.match((await client.responses.create(body)).output_text, /12/);
    assert.equal((await client.responses.retrieve(first.id)).id, first.id);
    await client.responses.delete(first.id);
    await assert.rejects(client.responses.retrieve(first.id), OpenAI.NotFoundError);
    const format = { type: 'json_schema', name: 'sum', strict: true, schema: SUM_SCHEMA };
    const parsed = await client.responses.parse({ ...ask, text: { format } });
    assert.deepEqual(Object.keys(parsed.output_parsed), ['sum']);
});

test('completions, embeddings, models', async () => {
    const text = await client.completions.create(
        { model: 'any', prompt: 'The rain', max_tokens: 4, temperature: 0, logprobs: 1 });
    assert.equal(text.usage.completion_tokens, 4);
    assert.equal(text.choices[0].logprobs.tokens.length, 4);
    const { data } = await client.embeddings.create({ model: 'any', input: ['a', 'b'] });
    const length = data[0].embedding.reduce((sum, x) => sum + x * x, 0);
    assert.ok(data.length === 2 && Math.abs(length - 1) < 1e-4, `${length}`);
    const ids = [];
    for await (const model of client.models.list()) {
        ids.push(model.id);
    }
    assert.equal(ids.length, 1);
    assert.equal((await client.models.retrieve(ids[0])).id, ids[0]);
});
