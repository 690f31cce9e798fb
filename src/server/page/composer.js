// SPDX-License-Identifier: Apache-2.0
// composer.js: where a message is written: the field, pictures by button, drop and paste, sending
// and stopping. Pictures are sent as the files are.
import {byId, el, iconButton, toast} from "./dom.js";
import {randomId} from "./conversation.js";

const TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const touch = matchMedia("(pointer: coarse)");

const readUrl = (file) => new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
});

export class Composer {
    // send(text, pictures), stop()
    constructor({send, stop}) {
        this.field = byId("message");
        this.pictures = [];
        this.place = null; // where the unsent text is kept: one for each conversation
        this.form = byId("composer");
        this.send = send;
        this.form.addEventListener("submit", (event) => {
            event.preventDefault();
            this.submit();
        });
        this.field.addEventListener("keydown", (event) => {
            // Where keys are drawn on glass, Enter is the only way to a new line.
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !touch.matches) {
                event.preventDefault();
                this.submit();
            }
        });
        this.field.addEventListener("input", () => this.changed());
        byId("stop").addEventListener("click", stop);
        byId("add-picture").addEventListener("click", () => byId("picture-file").click());
        byId("picture-file").addEventListener("change", (event) => {
            this.addFiles(event.target.files);
            event.target.value = "";
        });
        this.watchDrops();
        document.addEventListener("paste", (event) => {
            const files = [...event.clipboardData.files];
            if (files.length && !document.querySelector("dialog[open]")) {
                event.preventDefault();
                this.addFiles(files);
            }
        });
    }

    watchDrops() {
        const carries = (event) => event.dataTransfer?.types.includes("Files");
        document.addEventListener("dragover", (event) => {
            if (!carries(event))
                return;
            event.preventDefault();
            byId("drop").hidden = false;
        });
        document.addEventListener("dragleave", (event) => {
            if (!event.relatedTarget) // out of the window
                byId("drop").hidden = true;
        });
        document.addEventListener("drop", (event) => {
            byId("drop").hidden = true;
            if (!carries(event))
                return;
            event.preventDefault();
            this.addFiles(event.dataTransfer.files);
        });
    }

    async addFiles(files) {
        for (const file of files) {
            if (!TYPES.includes(file.type)) {
                toast(`${file.name}: found ${file.type || "an unknown type"}, expected a PNG, ` +
                    "JPEG, WebP or GIF picture");
                continue;
            }
            try {
                this.pictures.push({id: randomId(), name: file.name || "picture",
                    url: await readUrl(file)});
            } catch (error) {
                toast(`${file.name}: cannot be read: ${error.message}`);
            }
        }
        this.drawPictures();
        this.field.focus();
    }

    drawPictures() {
        const box = byId("pictures");
        box.hidden = this.pictures.length === 0;
        box.replaceChildren(...this.pictures.map((picture) => el("div", {role: "listitem"},
            el("img", {src: picture.url, alt: picture.name}),
            iconButton("close", "Remove " + picture.name, () => {
                this.pictures = this.pictures.filter((other) => other !== picture);
                this.drawPictures();
                this.field.focus();
            }))));
    }

    submit() {
        const text = this.field.value.trim();
        if (this.answering || (text === "" && this.pictures.length === 0))
            return;
        const pictures = this.pictures.map(({name, url}) => ({name, url}));
        this.field.value = "";
        this.pictures = [];
        this.drawPictures();
        this.changed();
        this.send(text, pictures);
    }

    setAnswering(answering) {
        const focused = [byId("stop"), byId("send")].includes(document.activeElement);
        this.answering = answering;
        byId("stop").hidden = !answering;
        byId("send").hidden = answering;
        if (focused)
            byId(answering ? "stop" : "send").focus();
    }

    keepAt(id) {
        this.place = "glint-draft:" + id;
    }

    // Shows what was being written for this conversation.
    turnTo(id) {
        this.keepAt(id);
        try {
            this.field.value = sessionStorage.getItem(this.place) ?? "";
        } catch {
            this.field.value = "";
        }
        this.pictures = [];
        this.drawPictures();
        this.fit();
    }

    changed() {
        this.fit();
        try {
            sessionStorage.setItem(this.place, this.field.value);
        } catch {
            // it is lost on leaving
        }
    }

    // As high as its text, up to a limit that the style sets.
    fit() {
        this.field.style.height = "auto";
        this.field.style.height = this.field.scrollHeight + "px";
    }
}
