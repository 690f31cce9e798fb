// SPDX-License-Identifier: Apache-2.0
// settings_dialog.js: the dialog where system prompt, tools, sampling, colours and the key are set,
// and where all conversations are exported, imported and deleted.
import {byId, el, iconButton} from "./dom.js";
import {EXAMPLE_TOOLS, SAMPLING, keepSettings, readTools, setTheme, settings} from "./settings.js";

const THEMES = [["system", "As the system"], ["light", "Light"], ["dark", "Dark"]];

function samplingField(field, defaults) {
    const id = "set-" + field.name;
    const given = settings.sampling[field.name], other = defaults[field.name];
    const input = el("input", {id, name: field.name, type: "number", inputmode: "decimal",
        min: field.min, max: field.max, step: field.whole ? "1" : "any",
        "aria-describedby": id + "-hint", value: typeof given === "number" ? given : null,
        placeholder: typeof other === "number" ? String(+other.toPrecision(4)) : "default"});
    return el("div", {class: "field"}, el("label", {for: id}, field.label), input,
        el("p", {class: "hint", id: id + "-hint"}, field.hint));
}

// Opens the dialog. head: of the open conversation; server: {model, nContext, build, defaults};
// actions: {saved, exportAll, importFile(file), deleteAll}.
export function openSettings(head, server, actions) {
    const dialog = byId("settings");
    const system = el("textarea", {id: "set-system", rows: "4",
        placeholder: "The model's own default"});
    system.value = head.system;
    const tools = el("textarea", {id: "set-tools", rows: "6", spellcheck: "false", class: "mono",
        "aria-describedby": "tools-hint"});
    tools.value = head.tools.length ? JSON.stringify(head.tools, null, 2) : "";
    tools.addEventListener("input", () => tools.setCustomValidity(""));
    const key = el("input", {id: "set-key", type: "password", autocomplete: "off",
        value: settings.key});
    const fields = SAMPLING.map((field) => samplingField(field, server.defaults ?? {}));
    const file = el("input", {type: "file", accept: ".json,application/json", hidden: true,
        id: "import-file", onchange: () => {
            dialog.close();
            actions.importFile(file.files[0]);
        }});
    const closing = (run) => () => {
        dialog.close();
        run();
    };
    const form = el("form", {method: "dialog", novalidate: true},
        el("header", {}, el("h2", {id: "settings-title"}, "Settings"),
            iconButton("close", "Close", () => dialog.close())),
        el("div", {class: "sections"},
            el("fieldset", {}, el("legend", {}, "This conversation, and new ones"),
                el("div", {class: "field"},
                    el("label", {for: "set-system"}, "System prompt"), system),
                el("div", {class: "field"}, el("label", {for: "set-tools"}, "Tools"), tools,
                    el("p", {class: "hint", id: "tools-hint"}, "A JSON list of functions. " +
                        "When the model calls one, you give its result. ",
                    el("button", {type: "button", class: "link", onclick: () => {
                        tools.value = JSON.stringify(EXAMPLE_TOOLS, null, 2);
                        tools.setCustomValidity("");
                    }}, "Put in an example")))),
            el("fieldset", {}, el("legend", {}, "Answers"),
                el("p", {class: "hint"}, "Empty fields are left to the server."),
                el("div", {class: "grid"}, ...fields)),
            el("fieldset", {}, el("legend", {}, "Colours"),
                el("div", {class: "choices"}, ...THEMES.map(([value, label]) => el("label", {},
                    el("input", {type: "radio", name: "theme", value,
                        checked: settings.theme === value, onchange: () => setTheme(value)}),
                    label)))),
            el("fieldset", {}, el("legend", {}, "Server"),
                el("p", {class: "hint"}, [server.model, server.nContext &&
                    `context ${server.nContext.toLocaleString("en")} tokens`, server.build]
                    .filter(Boolean).join(" · ") || "Not connected."),
                el("div", {class: "field"}, el("label", {for: "set-key"}, "API key"), key,
                    el("p", {class: "hint"}, "Only where the server asks for one. It is kept in " +
                        "this browser."))),
            el("fieldset", {}, el("legend", {}, "Conversations"),
                el("div", {class: "choices"},
                    el("button", {type: "button", onclick: closing(actions.exportAll)},
                        "Export all (JSON)"),
                    el("button", {type: "button", onclick: () => file.click()}, "Import…"), file,
                    el("button", {type: "button", class: "danger",
                        onclick: closing(actions.deleteAll)}, "Delete all")))),
        el("div", {class: "buttons"},
            el("button", {type: "button", onclick: () => dialog.close()}, "Cancel"),
            el("button", {type: "submit", class: "primary"}, "Save")));
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        if (save(form, {head, system, tools, key})) {
            dialog.close();
            actions.saved();
        }
    });
    dialog.replaceChildren(form);
    dialog.showModal();
}

// Takes over what was entered; false after showing what is wrong.
function save(form, {head, system, tools, key}) {
    let list;
    try {
        list = readTools(tools.value);
    } catch (error) {
        tools.setCustomValidity(error.message);
    }
    if (!form.reportValidity())
        return false;
    head.system = settings.system = system.value;
    head.tools = settings.tools = list;
    settings.key = key.value.trim();
    settings.sampling = {};
    for (const {name} of SAMPLING)
        if (form.elements[name].value !== "")
            settings.sampling[name] = Number(form.elements[name].value);
    keepSettings();
    return true;
}
