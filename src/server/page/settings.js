// SPDX-License-Identifier: Apache-2.0
// settings.js: what a person has chosen, kept in the browser, and what a request takes from it.

const PLACE = "glint-settings";

// What a request may say about how words are drawn; absent ones are left to the server.
export const SAMPLING = [
    {name: "temperature", label: "Temperature", min: 0, max: 100,
        hint: "0 always takes the likeliest word"},
    {name: "top_p", label: "Top p", min: 0, max: 1, hint: "likeliest words of this share together"},
    {name: "top_k", label: "Top k", min: 0, whole: true, hint: "this many likeliest words; 0: all"},
    {name: "min_p", label: "Min p", min: 0, max: 1, hint: "share of the likeliest word's chance"},
    {name: "repeat_penalty", label: "Repeat penalty", min: 0.001, max: 1000,
        hint: "above 1: fewer repetitions"},
    {name: "presence_penalty", label: "Presence penalty", min: -2, max: 2,
        hint: "for words that were said"},
    {name: "frequency_penalty", label: "Frequency penalty", min: -2, max: 2,
        hint: "for each time they were said"},
    {name: "seed", label: "Seed", min: 0, whole: true, hint: "the same seed draws the same words"},
    {name: "max_tokens", label: "Longest answer", min: 1, whole: true, hint: "in tokens"},
    {name: "reasoning_budget_tokens", label: "Longest thinking", min: 0, whole: true,
        hint: "in tokens"},
];

export const EFFORTS = ["low", "medium", "high", "xhigh"];

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function read() {
    let kept = null;
    try {
        kept = JSON.parse(localStorage.getItem(PLACE));
    } catch {
        // nothing kept, or not by this page
    }
    return {theme: "system", key: "", effort: "", system: "", tools: [], sampling: {},
        ...(isObject(kept) ? kept : {})};
}

export const settings = read();

export function keepSettings() {
    try {
        localStorage.setItem(PLACE, JSON.stringify(settings));
    } catch {
        // a window that keeps nothing: they hold until it is closed
    }
}

export function setTheme(theme) {
    settings.theme = theme;
    keepSettings();
    if (theme === "system")
        delete document.documentElement.dataset.theme;
    else
        document.documentElement.dataset.theme = theme;
}

// Tools as OpenAI has them; bare functions are wrapped. Throws an Error that says what is wrong.
export function readTools(text) {
    if (text.trim() === "")
        return [];
    const list = JSON.parse(text);
    if (!Array.isArray(list))
        throw new Error("expected a list: [ {…}, {…} ]");
    return list.map((tool, i) => {
        const wrapped = isObject(tool?.function) ? tool : {type: "function", function: tool};
        if (!isObject(wrapped.function) || typeof wrapped.function.name !== "string")
            throw new Error(`tool ${i + 1}: expected an object with "name" and "parameters"`);
        return {type: "function", function: wrapped.function};
    });
}

export const EXAMPLE_TOOLS = [{
    type: "function",
    function: {
        name: "get_weather",
        description: "Get the weather of a city.",
        parameters: {
            type: "object",
            properties: {
                city: {type: "string", description: "Name of the city."},
                days: {type: "integer", description: "Number of days."},
            },
            required: ["city"],
        },
    },
}];
