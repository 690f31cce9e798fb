// SPDX-License-Identifier: Apache-2.0
// api.js: talking to the server that gave the page. Paths are relative, so that the page also works
// behind a proxy that serves it below a path of its own.
import {settings} from "./settings.js";

// What a person is told when a request fails. status 0: no answer came.
export class ApiError extends Error {
    constructor(message, status = 0) {
        super(message);
        this.status = status;
    }
}

const UNREACHABLE = "The server cannot be reached. Is it running?";
const CUT = "The connection to the server was lost.";

async function send(path, options = {}) {
    const headers = {...options.headers};
    if (settings.key)
        headers.Authorization = "Bearer " + settings.key;
    let response;
    try {
        response = await fetch(new URL(path, document.baseURI), {...options, headers});
    } catch (error) {
        if (error.name === "AbortError")
            throw error;
        throw new ApiError(UNREACHABLE);
    }
    if (!response.ok)
        throw new ApiError(await errorText(response), response.status);
    return response;
}

async function errorText(response) {
    const text = await response.text().catch(() => "");
    try {
        const {error} = JSON.parse(text);
        return error.message ?? String(error);
    } catch {
        return text.trim().slice(0, 500) || "The server answered with status " + response.status;
    }
}

export async function getJson(path) {
    return (await send(path)).json();
}

// The chunks of a chat completion, as they come. Throws ApiError when the stream ends early.
export async function* streamChat(body, signal) {
    const response = await send("v1/chat/completions", {
        method: "POST", signal, body: JSON.stringify(body),
        headers: {"Content-Type": "application/json"},
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
        const {value, done} = await reader.read().catch((error) => {
            throw signal.aborted ? error : new ApiError(CUT);
        });
        if (done)
            throw new ApiError(CUT);
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) {
            if (!line.startsWith("data:"))
                continue;
            const data = line.slice(5).trim();
            if (data === "[DONE]")
                return;
            const event = JSON.parse(data);
            if (event.error)
                throw new ApiError(event.error.message ?? "The server failed.", 500);
            yield event;
        }
    }
}
