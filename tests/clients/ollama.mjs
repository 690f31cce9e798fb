// SPDX-License-Identifier: Apache-2.0
// ollama.mjs: the `ollama` package, on the second socket.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Ollama } from 'ollama';
import {
    KEY, OLLAMA, OSLO, PICTURE, PICTURE_QUESTION, RESULT, SUM, SUM_SCHEMA, WEATHER, idle,
} from './asked.mjs';

const client = new Ollama({ host: OLLAMA, headers: { Authorization: `Bearer ${KEY}` } });
const asked = (content, more) => ({
    model: 'any', messages: [{ role: 'user', content }],
    options: { temperature: 0, num_predict: 300 }, ...more,
});
const TOOLS = [{ type: 'function', function: WEATHER }];

test('chat and generate', async () => {
    const answer = await client.chat(asked(SUM));
    assert.match(answer.message.content, /85/);
    assert.ok(answer.message.thinking.length > 0);
    assert.ok(answer.done && answer.done_reason === 'stop' && answer.eval_count > 0);
    const { options } = asked(SUM);
    assert.match((await client.generate({ model: 'any', prompt: SUM, options })).response, /85/);
    const curt = await client.chat(asked(SUM, { think: false }));
    assert.ok(!curt.message.thinking);
});

test('stream equals the whole answer', async () => {
    const whole = await client.chat(asked(SUM));
    let content = '';
    let thinking = '';
    let last = null;
    for await (const part of await client.chat(asked(SUM, { stream: true }))) {
        content += part.message.content;
        thinking += part.message.thinking ?? '';
        last = part;
    }
    assert.deepEqual([content, thinking], [whole.message.content, whole.message.thinking]);
    assert.ok(last.done && last.total_duration > 0 && last.eval_count === whole.eval_count);
});

test('tools: whole, streamed, and a round trip', async () => {
    const body = asked(OSLO, { tools: TOOLS });
    const whole = await client.chat(body);
    const [call] = whole.message.tool_calls;
    assert.deepEqual(call.function.arguments, { city: 'Oslo' });
    const calls = [];
    for await (const part of await client.chat({ ...body, stream: true })) {
        calls.push(...part.message.tool_calls ?? []);
    }
    assert.deepEqual(calls.map((c) => c.function.arguments), [{ city: 'Oslo' }]);
    const messages = [
        ...body.messages, whole.message,
        { role: 'tool', content: RESULT, tool_name: call.function.name },
    ];
    assert.match((await client.chat({ ...body, messages })).message.content, /12/);
});

test('JSON schema', async () => {
    const answer = await client.chat(asked(SUM, { format: SUM_SCHEMA }));
    assert.deepEqual(Object.keys(JSON.parse(answer.message.content)), ['sum']);
});

test('pictures', async () => {
    const message = { role: 'user', content: PICTURE_QUESTION, images: [new Uint8Array(PICTURE)] };
    const answer = await client.chat(asked('', { messages: [message] }));
    assert.match(answer.message.content, /circle|square|triangle/);
});

test('errors', async () => {
    const stranger = new Ollama({ host: OLLAMA });
    await assert.rejects(stranger.chat(asked(SUM)), (error) => error.status_code === 401);
    await assert.rejects(client.chat(asked(SUM, { options: { temperature: -1 } })), (error) =>
        error.status_code === 400 && /temperature/.test(error.message));
    await assert.rejects(client.chat(asked('word '.repeat(9000), { stream: true })), (error) =>
        error.status_code === 400 && /8192/.test(error.message));
    await assert.rejects(client.delete({ model: 'any' }), (error) => error.status_code === 501);
});

test('abort ends the work', async () => {
    const options = { temperature: 0, num_predict: 7000, ignore_eos: true };
    const stream = await client.chat(asked('Count to a thousand.', { stream: true, options }));
    await assert.rejects(async () => {
        let n = 0;
        for await (const part of stream) {
            n += part.done ? 0 : 1;
            if (n === 2) {
                stream.abort();
            }
        }
    }, { name: 'AbortError' });
    await idle();
});

test('the model and its embeddings', async () => {
    const { models } = await client.list();
    assert.equal(models.length, 1);
    assert.equal((await client.ps()).models.length, 1);
    const shown = await client.show({ model: models[0].name });
    for (const what of ['completion', 'tools', 'vision', 'thinking']) {
        assert.ok(shown.capabilities.includes(what), what);
    }
    const { embeddings } = await client.embed({ model: 'any', input: ['a', 'b'] });
    assert.ok(embeddings.length === 2 && embeddings[0].length === 256);
    assert.match((await client.version()).version, /^0\.\d+\.\d+$/);
});
