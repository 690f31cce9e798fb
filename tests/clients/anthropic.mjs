// SPDX-License-Identifier: Apache-2.0
// anthropic.mjs: the `@anthropic-ai/sdk` package: messages, counting, models.
import assert from 'node:assert/strict';
import test from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import {
    BASE, KEY, OSLO, PICTURE, PICTURE_QUESTION, RESULT, SUM, SUM_SCHEMA, WEATHER, idle,
} from './asked.mjs';

const client = new Anthropic({ baseURL: BASE, apiKey: KEY, maxRetries: 0 });
const asked = (content, more) => ({
    model: 'any', temperature: 0, max_tokens: 300, messages: [{ role: 'user', content }], ...more,
});
const TOOLS = [{
    name: WEATHER.name, description: WEATHER.description, input_schema: WEATHER.parameters,
}];
const textOf = (message) => message.content
    .filter((block) => block.type === 'text').map((block) => block.text).join('');

test('message', async () => {
    const answer = await client.messages.create(asked(SUM));
    assert.match(textOf(answer), /85/);
    assert.equal(answer.stop_reason, 'end_turn');
    assert.ok(answer.usage.output_tokens > 0);
    const thinking = { type: 'enabled', budget_tokens: 1024 };
    const thought = await client.messages.create(asked(SUM, { thinking, max_tokens: 2000 }));
    assert.equal(thought.content[0].type, 'thinking');
    assert.ok(thought.content[0].thinking.length > 0);
});

test('stream, raw and put together by the client, equals the whole answer', async () => {
    const whole = textOf(await client.messages.create(asked(SUM)));
    let text = '';
    let last = null;
    for await (const event of await client.messages.create(asked(SUM, { stream: true }))) {
        text += event.type === 'content_block_delta' && event.delta.type === 'text_delta'
            ? event.delta.text : '';
        last = event.type;
    }
    assert.deepEqual([text, last], [whole, 'message_stop']);
    const stream = client.messages.stream(asked(SUM));
    const deltas = [];
    stream.on('text', (delta) => deltas.push(delta));
    assert.equal(await stream.finalText(), whole);
    assert.equal(deltas.join(''), whole);
});

test('tools: whole, streamed, round trips by hand and by the client', async () => {
    const body = asked(OSLO, { tools: TOOLS });
    const whole = await client.messages.create(body);
    assert.equal(whole.stop_reason, 'tool_use');
    const call = whole.content.find((block) => block.type === 'tool_use');
    assert.deepEqual([call.name, call.input], ['get_weather', { city: 'Oslo' }]);
    const stream = client.messages.stream(body);
    const pieces = [];
    stream.on('inputJson', (piece) => pieces.push(piece));
    const joined = await stream.finalMessage();
    assert.deepEqual(joined.content.find((block) => block.type === 'tool_use').input, call.input);
    assert.deepEqual(JSON.parse(pieces.join('')), call.input);
    const history = [
        ...body.messages, { role: 'assistant', content: whole.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: RESULT }] },
    ];
    const end = await client.messages.create({ ...body, messages: history });
    assert.match(textOf(end), /12/);
    assert.ok(end.usage.cache_read_input_tokens > 100);
    for (const stream of [false, true]) {
        const cities = [];
        const run = ({ city }) => {
            cities.push(city);
            return RESULT;
        };
        const tools = [{ ...TOOLS[0], run, parse: (input) => input }];
        const runner = client.beta.messages.toolRunner(asked(OSLO, { tools, stream }));
        const answer = await runner.runUntilDone();
        assert.match(textOf(answer), /12/);
        assert.deepEqual(cities, ['Oslo']);
    }
});

test('JSON schema', async () => {
    const format = { type: 'json_schema', schema: SUM_SCHEMA };
    const answer = await client.messages.parse(asked(SUM, { output_config: { format } }));
    assert.deepEqual(Object.keys(answer.parsed_output), ['sum']);
    assert.equal(typeof answer.parsed_output.sum, 'number');
});

test('pictures', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: PICTURE.toString('base64') };
    const content = [{ type: 'image', source }, { type: 'text', text: PICTURE_QUESTION }];
    assert.match(textOf(await client.messages.create(asked(content))), /circle|square|triangle/);
});

test('errors are the classes that the client has for them', async () => {
    const create = (body, from = client) => from.messages.create(body);
    const stranger = new Anthropic({ baseURL: BASE, apiKey: 'wrong', maxRetries: 0 });
    await assert.rejects(create(asked(SUM), stranger), (error) =>
        error instanceof Anthropic.AuthenticationError &&
        error.error.error.type === 'authentication_error');
    await assert.rejects(create(asked(SUM, { temperature: -1 })), (error) =>
        error instanceof Anthropic.BadRequestError && /temperature/.test(error.message) &&
        error.error.error.type === 'invalid_request_error');
    await assert.rejects(create(asked('word '.repeat(9000), { stream: true })), (error) =>
        error instanceof Anthropic.BadRequestError && /8192/.test(error.message));
    await assert.rejects(client.get('/v1/messages/nowhere'), Anthropic.NotFoundError);
});

test('abort ends the work', async () => {
    const endless = asked('Who are you?', { max_tokens: 7000, ignore_eos: true });
    const stream = client.messages.stream(endless);
    stream.on('streamEvent', (event) => {
        if (event.type === 'content_block_delta') {
            stream.abort();
        }
    });
    await assert.rejects(stream.done(), Anthropic.APIUserAbortError);
    await idle();
    const aborter = new AbortController();
    setTimeout(() => aborter.abort(), 300);
    await assert.rejects(client.messages.create(endless, { signal: aborter.signal }),
        Anthropic.APIUserAbortError);
    await idle();
});

test('counting and models', async () => {
    const { max_tokens, temperature, ...body } = asked(SUM);
    const count = await client.messages.countTokens(body);
    const { usage } = await client.messages.create({ ...body, temperature, max_tokens });
    assert.equal(count.input_tokens, usage.input_tokens + usage.cache_read_input_tokens);
    const ids = [];
    for await (const model of client.models.list()) {
        ids.push(model.id);
    }
    assert.equal(ids.length, 1);
});
