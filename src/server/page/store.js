// SPDX-License-Identifier: Apache-2.0
// store.js: conversations in the browser's database: one record for each conversation (its title,
// system prompt, tools), one for each message, so that a growing answer rewrites only itself.
// Where the browser keeps nothing (some private windows), the same in memory.

const CHATS = "chats", MESSAGES = "messages";

function openDatabase() {
    return new Promise((resolve, reject) => {
        const request = indexedDB.open("glint", 1);
        request.onupgradeneeded = () => {
            request.result.createObjectStore(CHATS, {keyPath: "id"});
            request.result.createObjectStore(MESSAGES, {keyPath: ["chat", "n"]});
        };
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
    });
}

// All messages of a chat from number `from` on.
const range = (chat, from) => IDBKeyRange.bound([chat, from], [chat, Infinity]);

class Database {
    constructor(database) {
        this.database = database;
        this.kept = true;
    }

    // Runs work(store...) in a transaction; the value of the request that it returns.
    run(mode, names, work) {
        return new Promise((resolve, reject) => {
            const transaction = this.database.transaction(names, mode);
            const request = work(...names.map((name) => transaction.objectStore(name)));
            transaction.oncomplete = () => resolve(request?.result);
            transaction.onerror = transaction.onabort = () => reject(transaction.error);
        });
    }

    chats() {
        return this.run("readonly", [CHATS], (chats) => chats.getAll());
    }

    messages(chat) {
        return this.run("readonly", [MESSAGES], (messages) => messages.getAll(range(chat, 0)));
    }

    // Puts a conversation's record and some of its messages, all or nothing.
    put(chat, some) {
        return this.run("readwrite", [CHATS, MESSAGES], (chats, messages) => {
            chats.put(chat);
            some.forEach((message) => messages.put(message));
        });
    }

    cut(chat, from) {
        return this.run("readwrite", [MESSAGES], (messages) => messages.delete(range(chat, from)));
    }

    remove(chat) {
        return this.run("readwrite", [CHATS, MESSAGES], (chats, messages) => {
            chats.delete(chat);
            messages.delete(range(chat, 0));
        });
    }
}

class Memory {
    constructor() {
        this.kept = false;
        this.all = new Map();
        this.said = new Map(); // of each chat: its messages
    }

    async chats() {
        return [...this.all.values()];
    }

    async messages(chat) {
        return [...(this.said.get(chat) ?? [])];
    }

    async put(chat, some) {
        this.all.set(chat.id, chat);
        if (!this.said.has(chat.id))
            this.said.set(chat.id, []);
        for (const message of some)
            this.said.get(chat.id)[message.n] = message;
    }

    async cut(chat, from) {
        this.said.get(chat)?.splice(from);
    }

    async remove(chat) {
        this.all.delete(chat);
        this.said.delete(chat);
    }
}

export const store = await openDatabase().then((database) => new Database(database),
    () => new Memory());
