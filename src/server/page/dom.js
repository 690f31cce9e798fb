// SPDX-License-Identifier: Apache-2.0
// dom.js: making elements. Text becomes text nodes, never markup: the page's policy forbids the
// other way, too.

// el("button", {class: "quiet", onclick: f, disabled: true}, "Text", child, null): names that begin
// with "on" are listeners, true and false set and leave out an attribute, null leaves out a child.
export function el(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (key.startsWith("on"))
            element.addEventListener(key.slice(2), value);
        else if (value === true)
            element.setAttribute(key, "");
        else if (value !== false && value !== null && value !== undefined)
            element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
}

// One of the drawings at the end of page.html.
export function icon(name) {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    const use = document.createElementNS(space, "use");
    svg.setAttribute("class", "icon");
    svg.setAttribute("aria-hidden", "true");
    use.setAttribute("href", "#icon-" + name);
    svg.append(use);
    return svg;
}

// A button of a drawing alone; the label is what it is called and what hovering shows.
export function iconButton(name, label, onclick, attributes = {}) {
    return el("button", {
        type: "button", class: "tool", "aria-label": label, title: label, onclick, ...attributes,
    }, icon(name));
}

export const byId = (id) => document.getElementById(id);

// Puts text into the clipboard, also where the page came over plain HTTP from another machine.
export async function copyText(text) {
    if (navigator.clipboard) {
        await navigator.clipboard.writeText(text);
        return;
    }
    const area = el("textarea", {class: "unseen", readonly: true});
    area.value = text;
    const focused = document.activeElement;
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    focused?.focus();
    if (!done)
        throw new Error("the browser does not let this page copy");
}

// A copy button that says for a moment that it has copied.
export function copyButton(label, getText) {
    const button = iconButton("copy", label, async () => {
        let said = "Copied";
        try {
            await copyText(getText());
            button.replaceChildren(icon("check"));
        } catch (error) {
            said = "Not copied: " + error.message;
        }
        announce(said);
        button.title = said;
        setTimeout(() => {
            button.replaceChildren(icon("copy"));
            button.title = label;
        }, 1500);
    });
    return button;
}

// Says something to those who hear the page.
export function announce(text) {
    byId("announcer").textContent = text;
}

// Shows a line at the bottom for a while, with a button if there is something to be done about it.
export function toast(text, action = null) {
    const box = byId("toast");
    const close = () => box.replaceChildren();
    clearTimeout(box.timer);
    box.replaceChildren(el("div", {class: "toast"}, el("span", {}, text),
        action && el("button", {
            type: "button", onclick: () => {
                close();
                action.run();
            },
        }, action.label)));
    box.timer = setTimeout(close, action ? 10000 : 5000);
}

// A menu under a button: items are {label, icon, run, danger}.
export function openMenu(button, items) {
    const menu = byId("menu");
    menu.replaceChildren(...items.map((item) => el("button", {
        type: "button", class: item.danger ? "danger" : null, onclick: () => {
            menu.hidePopover();
            item.run();
        },
    }, icon(item.icon), item.label)));
    menu.onkeydown = (event) => {
        const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
        if (!step)
            return;
        const buttons = [...menu.children];
        const at = buttons.indexOf(document.activeElement);
        buttons[(at + step + buttons.length) % buttons.length].focus();
        event.preventDefault();
    };
    menu.showPopover();
    const place = button.getBoundingClientRect(), size = menu.getBoundingClientRect();
    const left = Math.min(place.left, innerWidth - size.width - 8);
    const below = place.bottom + 4 + size.height < innerHeight;
    menu.style.left = Math.max(8, left) + "px";
    menu.style.top = (below ? place.bottom + 4 : Math.max(8, place.top - size.height - 4)) + "px";
    menu.firstChild.focus();
    button.setAttribute("aria-expanded", "true");
    menu.addEventListener("toggle", (event) => {
        if (event.newState === "closed") {
            button.setAttribute("aria-expanded", "false");
            if (menu.contains(document.activeElement) || document.activeElement === document.body)
                button.focus();
        }
    }, {once: true});
}
