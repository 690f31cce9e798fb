// SPDX-License-Identifier: Apache-2.0
// ai_sdk.mjs: the `ai` package with `@ai-sdk/openai-compatible`, as many agents use it.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
    APICallError, Output, embedMany, generateText, isStepCount, jsonSchema, streamText, tool,
} from 'ai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
    BASE, KEY, OSLO, PICTURE, PICTURE_QUESTION, RESULT, SUM, SUM_SCHEMA, WEATHER, idle,
} from './asked.mjs';

const settings = {
    name: 'glint', baseURL: `${BASE}/v1`, includeUsage: true, supportsStructuredOutputs: true,
};
const provider = createOpenAICompatible({ ...settings, apiKey: KEY });
const asked = (content, more) => ({
    model: provider('any'), temperature: 0, maxOutputTokens: 300, maxRetries: 0,
    messages: [{ role: 'user', content }], ...more,
});

function weather(cities) {
    return {
        get_weather: tool({
            description: WEATHER.description,
            inputSchema: jsonSchema(WEATHER.parameters),
            execute: async ({ city }) => {
                cities.push(city);
                return RESULT;
            },
        }),
    };
}

test('text', async () => {
    const answer = await generateText(asked(SUM));
    assert.match(answer.text, /85/);
    assert.ok(answer.reasoningText.length > 0);
    assert.equal(answer.finishReason, 'stop');
    assert.ok(answer.usage.inputTokens > 0 && answer.usage.outputTokens > 0);
});

test('stream equals the whole text', async () => {
    const whole = await generateText(asked(SUM));
    const stream = streamText(asked(SUM));
    let text = '';
    for await (const delta of stream.textStream) {
        text += delta;
    }
    assert.equal(text, whole.text);
    assert.equal(await stream.reasoningText, whole.reasoningText);
    assert.equal(await stream.finishReason, 'stop');
    assert.equal((await stream.usage).outputTokens, whole.usage.outputTokens);
});

test('tools: round trips by the client, whole and streamed', async () => {
    const cities = [];
    const more = { tools: weather(cities), stopWhen: isStepCount(3) };
    const whole = await generateText(asked(OSLO, more));
    assert.equal(whole.steps.length, 2);
    assert.equal(whole.steps[0].finishReason, 'tool-calls');
    assert.match(whole.text, /12/);
    const stream = streamText(asked(OSLO, more));
    assert.equal(await stream.text, whole.text);
    assert.deepEqual(cities, ['Oslo', 'Oslo']);
    const forced = await generateText(asked('Who are you?', {
        tools: weather([]), toolChoice: { type: 'tool', toolName: 'get_weather' },
    }));
    assert.equal(forced.toolCalls[0].toolName, 'get_weather');
});

test('JSON schema, whole and streamed', async () => {
    const output = Output.object({ schema: jsonSchema(SUM_SCHEMA) });
    const whole = await generateText(asked(SUM, { output }));
    assert.equal(typeof whole.output.sum, 'number');
    assert.deepEqual(await streamText(asked(SUM, { output })).output, whole.output);
});

test('pictures', async () => {
    const answer = await generateText(asked([
        { type: 'file', data: new Uint8Array(PICTURE), mediaType: 'image/png' },
        { type: 'text', text: PICTURE_QUESTION },
    ]));
    assert.match(answer.text, /circle|square|triangle/);
});

test('errors', async () => {
    const stranger = createOpenAICompatible({ ...settings, apiKey: 'wrong' });
    const refused = async (body, status, says) => assert.rejects(generateText(body), (error) =>
        APICallError.isInstance(error) && error.statusCode === status && says.test(error.message));
    await refused(asked(SUM, { model: stranger('any') }), 401, /key/);
    await refused(asked(SUM, { temperature: -1 }), 400, /temperature/);
    await refused(asked('word '.repeat(9000)), 400, /8192/);
    const errors = [];
    const stream = streamText(asked(SUM, {
        temperature: -1, onError: ({ error }) => errors.push(error),
    }));
    await stream.consumeStream();
    assert.deepEqual(errors.map((error) => error.statusCode), [400]);
});

test('abort ends the work', async () => {
    const aborter = new AbortController();
    const stream = streamText(asked('Who are you?', {
        maxOutputTokens: 7000, abortSignal: aborter.signal,
        providerOptions: { glint: { ignore_eos: true } },
    }));
    const kinds = [];
    for await (const part of stream.fullStream) {
        kinds.push(part.type);
        if (part.type.endsWith('-delta')) {
            aborter.abort();
        }
    }
    assert.equal(kinds.at(-1), 'abort');
    await idle();
});

test('embeddings', async () => {
    const model = provider.embeddingModel('any');
    const { embeddings } = await embedMany({ model, values: ['a', 'b'], maxRetries: 0 });
    assert.ok(embeddings.length === 2 && embeddings[0].length === 256);
});
