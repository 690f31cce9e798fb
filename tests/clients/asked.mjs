// SPDX-License-Identifier: Apache-2.0
// asked.mjs: what every client is made to ask, and whether the server still works on something.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

export const BASE = process.env.GLINT_BASE;
export const OLLAMA = process.env.GLINT_OLLAMA;
export const KEY = process.env.GLINT_KEY;

export const SUM = 'What is 47 + 38?';
export const OSLO = 'What is the weather in Oslo?';
export const RESULT = '12 degrees and rain';
export const PICTURE_QUESTION = 'Describe the picture.';
export const PICTURE = readFileSync(`${process.env.GLINT_DEMO}/shapes.png`);
export const WEATHER = JSON.parse(
    readFileSync(`${process.env.GLINT_DEMO}/weather.json`, 'utf8'))[0].function;
export const SUM_SCHEMA = {
    type: 'object', required: ['sum'], additionalProperties: false,
    properties: { sum: { type: 'integer' } },
};

// Waits until nothing runs or waits: what a client has left is given up.
export async function idle() {
    for (let i = 0; i < 600; i++) {
        const answer = await fetch(`${BASE}/metrics`, { headers: { 'x-api-key': KEY } });
        const text = await answer.text();
        const counts = text.match(/^glint_requests_(running|waiting) \d+$/gm);
        assert.equal(counts?.length, 2, text);
        if (counts.every((line) => line.endsWith(' 0'))) {
            return;
        }
        await new Promise((done) => { setTimeout(done, 50); });
    }
    assert.fail('work goes on for a client that has left');
}
