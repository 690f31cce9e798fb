# SPDX-License-Identifier: Apache-2.0
"""Tool skills. Every tool is invented on the spot (names, parameters, types, descriptions), so the model has to read the
declarations; a second family has the everyday tools people try first, with changing names. An episode is a list of rounds:
a request, one or more calls, the results, an answer taken from them."""
from lexicon import *
from chat_format import dumps
from skills_text import user, answer, think, person_name


def camel(s):
    p = s.replace(".", "_").replace("-", "_").split("_")
    return p[0] + "".join(w.capitalize() for w in p[1:])


def tool_result(name, content):
    return {"role": "tool", "name": name, "content": content}


def calls(thought, cs):
    m = {"role": "assistant", "content": "", "calls": cs, "class": 1}
    if thought:
        m["reasoning"] = thought
    return m


# ---- values: (value, how the request says it, how the thought says it) ----------------------------------------------

def make_value(rng, schema, name):
    t = schema["type"]
    if "enum" in schema:
        v = rng.choice(schema["enum"])
        return v, v
    if t == "integer":
        v = number(rng, rng.choice((1, 2, 2, 3, 5)))
        if rng.random() < 0.06:
            v = -v
        return v, str(v)
    if t == "number":
        v = rng.choice((rng.randint(1, 999) / 10, rng.randint(1, 9999) / 100, float(rng.randint(1, 99)), -rng.randint(1, 99) / 10))
        return v, repr(v)
    if t == "boolean":
        v = rng.random() < 0.5
        return v, rng.choice((("true", "yes", "on"), ("false", "no", "off"))[not v])
    if t == "array":
        it = schema["items"]["type"]
        xs = [number(rng, 3) if it == "integer" else rng.choice(OBJECTS + FRUIT + COLOURS) if rng.random() < 0.6 else pseudo(rng) for _ in range(rng.randint(1, 4))]
        return xs, join([str(x) for x in xs])
    if t == "object":
        d = {k: make_value(rng, s, k)[0] for k, s in schema["properties"].items()}
        return d, join(["%s %s" % (k, ("true" if v else "false") if isinstance(v, bool) else v) for k, v in d.items()])
    k = rng.randrange(8)
    v = (rng.choice(OBJECTS), pseudo(rng), person_name(rng), rng.choice(CITIES), code(rng), words(rng, 2), words(rng, 3), rng.choice((date, clock))(rng))[k]
    if rng.random() < 0.12:
        v = rng.choice(("%s/%s.txt" % (pseudo(rng), pseudo(rng)), "%s@%s.org" % (pseudo(rng), pseudo(rng)), "/%s/%s" % (pseudo(rng), pseudo(rng))))
    return v, '"%s"' % v if rng.random() < 0.3 or " " in v else v


def make_schema(rng, name):
    if name in FLAGS and rng.random() < 0.85:
        return {"type": "boolean"}
    k = rng.random()
    if k < 0.42:
        return {"type": "string"}
    if k < 0.68:
        return {"type": "integer"}
    if k < 0.75:
        return {"type": "number"}
    if k < 0.81:
        return {"type": "boolean"}
    if k < 0.90:
        pool = rng.choice((COLOURS, DAYS, ROOMS, ADJ, FRUIT, None))
        return {"type": "string", "enum": rng.sample(pool, rng.randint(2, 4)) if pool else [pseudo(rng) for _ in range(rng.randint(2, 4))]}
    if k < 0.96:
        return {"type": "array", "items": {"type": rng.choice(("string", "integer"))}}
    keys = rng.sample(PARAMS, 2)
    return {"type": "object", "properties": {x: {"type": rng.choice(("string", "integer"))} for x in keys}}


def spoken(name):
    return name.replace("_", " ")


def fresh_tool(rng, verb=None, thing=None):
    """An invented tool: declaration, and what its description says it does."""
    verb, noun = verb or rng.choice(VERBS), thing or (rng.choice(OBJECTS) if rng.random() < 0.75 else pseudo(rng))
    if not thing and rng.random() < 0.3:
        noun = rng.choice(ADJ) + " " + noun
    flat = noun.replace(" ", "_")
    k = rng.random()
    if k < 0.4:
        name = "%s_%s" % (verb, flat)
    elif k < 0.5:
        name = camel("%s_%s" % (verb, flat))
    elif k < 0.62:
        name = "%s.%s" % (flat, verb)
    elif k < 0.72:
        name = "%s.%s_%s" % (rng.choice(OBJECTS) if rng.random() < 0.5 else pseudo(rng), verb, flat)
    elif k < 0.78:
        name = "%s-%s" % (verb, flat)
    elif k < 0.9:
        name = pseudo(rng) + rng.choice(("", "_" + pseudo(rng, 2), str(rng.randint(1, 99)), "." + pseudo(rng, 2)))
    else:
        name = "%s_%s" % (flat, verb)
    does = "%s the %s" % (SYNONYM[verb] if verb in SYNONYM and rng.random() < 0.15 else verb, noun)
    desc = rng.choice(("%s.", "%s", "Use this to %s.", "A tool to %s.", "Call this to %s.")) % does
    desc = desc[0].upper() + desc[1:]
    props, req = {}, []
    n = rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))
    names = {}                          # not a set: its order would change from run to run
    while len(names) < n:
        p = rng.choice(PARAMS) if rng.random() < 0.72 else (pseudo(rng) if rng.random() < 0.6 else rng.choice(ADJ[:20]) + "_" + rng.choice(PARAMS))
        names[camel(p) if "_" in p and rng.random() < 0.25 else p] = None
    for p in sorted(names, key=lambda x: rng.random()):
        s = make_schema(rng, p)
        if rng.random() < 0.6:
            s = {"type": s["type"], "description": rng.choice(("The %s.", "The %s to use.", "Sets the %s.", "%s")) % spoken(p), **{x: y for x, y in s.items() if x != "type"}}
        props[p] = s
        if rng.random() < 0.7:
            req.append(p)
    params = {"type": "object", "properties": props}
    if req and rng.random() < 0.9:
        params["required"] = req
    if rng.random() < 0.1:
        params["additionalProperties"] = False
    if rng.random() < 0.12:
        desc = desc.rstrip(".") + ". " + rng.choice(MORE)
    return {"name": name, "description": desc, "parameters": params}, verb, noun


def decoys(rng, verb, noun, n):
    """Other tools, some close to the right one in verb or thing."""
    out = []
    for _ in range(n):
        k = rng.random()
        if k < 0.3:
            out.append(fresh_tool(rng, rng.choice([v for v in VERBS if v != verb]), noun)[0])
        elif k < 0.6:
            out.append(fresh_tool(rng, verb, rng.choice([o for o in OBJECTS if o not in noun]))[0])
        else:
            out.append(fresh_tool(rng)[0])
    return out


def request(rng, tool, verb, noun):
    """(what the user says, arguments in schema order)."""
    p = tool["parameters"]
    req = p.get("required", [])
    args, said = {}, []
    for k, s in p["properties"].items():
        if k in req or rng.random() < 0.65:
            v, t = make_value(rng, s, k)
            args[k] = v
            said.append((spoken(k) if rng.random() < 0.8 else k, t))
    order = sorted(said, key=lambda x: rng.random()) if rng.random() < 0.4 else said
    style = rng.randrange(6)
    if style == 0:
        tail = " with " + join(["%s %s" % x for x in order]) if order else ""
    elif style == 1:
        tail = ", " + ", ".join("%s: %s" % x for x in order) if order else ""
    elif style == 2:
        tail = ". " + " ".join("The %s is %s." % x for x in order) if order else ""
    elif style == 3:
        tail = " with " + join(["%s = %s" % x for x in order]) if order else ""
    elif style == 4:
        tail = ", using " + join(["%s as the %s" % (x[1], x[0]) for x in order]) if order else ""
    else:
        tail = ". Set " + join(["%s to %s" % x for x in order]) if order else ""
    head = rng.choice(("%s the %s", "Please %s the %s", "Can you %s the %s", "I want you to %s the %s", "%s the %s", "Could you %s the %s")) % (verb, noun)
    text = head + tail
    text = text[0].upper() + text[1:]
    return (text if text.endswith((".", "?")) else text + "."), args


def plain_value(v):
    return ("true" if v else "false") if isinstance(v, bool) else dumps(v) if isinstance(v, (dict, list)) else str(v)


def result_value(rng):
    k = rng.randrange(8)
    return (number(rng), number(rng, 2), rng.randint(1, 999) / 10, pseudo(rng), code(rng), words(rng, 2), person_name(rng), rng.random() < 0.5)[k]


def result_fields(rng):
    keys = rng.sample(FIELDS, rng.randint(1, 5)) if rng.random() < 0.7 else list(dict.fromkeys(pseudo(rng) for _ in range(rng.randint(1, 4))))
    return {k: result_value(rng) for k in keys}


ERRORS = ("not found", "access denied", "time out", "no connection", "bad value", "service busy", "not allowed", "quota used up")


def one_round(rng, effort, tool, verb, noun):
    text, args = request(rng, tool, verb, noun)
    name = tool["name"]
    said = ", ".join("%s = %s" % (k, plain_value(v)) for k, v in args.items())
    t = think(effort, "I call %s." % name, "The user wants to %s the %s. I call %s%s." % (verb, noun, name, " with " + said if said else ""))
    k = rng.random()
    if k < 0.55:
        f = result_fields(rng)
        body = dumps(f) if rng.random() < 0.7 else "\n".join("%s: %s" % (x, plain_value(v)) for x, v in f.items())
        asked = rng.choice(list(f))
        ask = rng.choice((" Then tell me the %s.", " What is the %s?", " I need to know the %s.", " Tell me the %s.")) % spoken(asked)
        val = plain_value(f[asked])
        reply = answer("The %s is %s." % (spoken(asked), val), think(effort, None, "The result says %s: %s." % (asked, val)))
        out = [user(text + ask), calls(t, [(name, args)]), tool_result(name, body), reply]
        if len(f) > 1 and rng.random() < 0.35:
            other = rng.choice([x for x in f if x != asked])
            out += [user(rng.choice(("And the %s?", "What is the %s?", "Tell me the %s too.")) % spoken(other)),
                    answer("The %s is %s." % (spoken(other), plain_value(f[other])), think(effort, None, "The result says %s: %s." % (other, plain_value(f[other]))))]
        return out
    if k < 0.68:
        return [user(text), calls(t, [(name, args)]), tool_result(name, rng.choice(("ok", "done", "OK", '{"ok": true}', '{"status": "done"}', "success"))),
                answer("Done. I called %s for the %s." % (name, noun), think(effort, None, "It worked."))]
    if k < 0.78:
        e = rng.choice(ERRORS) if rng.random() < 0.7 else words(rng, 2)
        return [user(text), calls(t, [(name, args)]), tool_result(name, rng.choice(("Error: %s", '{"error": "%s"}', "error: %s")) % e),
                answer("The tool failed: %s." % e, think(effort, None, "The tool gives an error."))]
    if k < 0.92:
        v = plain_value(result_value(rng))
        return [user(text), calls(t, [(name, args)]), tool_result(name, v), answer("The result is %s." % v, think(effort, None, "The result says %s." % v))]
    xs = [rng.choice(OBJECTS) if rng.random() < 0.5 else pseudo(rng) for _ in range(rng.randint(1, 5))]
    return [user(text), calls(t, [(name, args)]), tool_result(name, dumps(xs) if rng.random() < 0.6 else "\n".join(xs)),
            answer("I found %s: %s." % (NUMBER_WORDS[len(xs)], join(xs)), think(effort, None, "The result has %d items." % len(xs)))]


def parallel_round(rng, effort, pairs):
    """Two or three requests in one message, over one tool or several. pairs: (tool, verb, noun)."""
    n = rng.choice((2, 2, 3))
    picked = [rng.choice(pairs)] * n if rng.random() < 0.4 else [rng.choice(pairs) for _ in range(n)]
    texts, cs, said = [], [], []
    for tool, verb, noun in picked:
        text, args = request(rng, tool, verb, noun)
        texts.append(text)
        cs.append((tool["name"], args))
    if rng.random() < 0.5:
        q = "\n".join("%d. %s" % (i + 1, x) for i, x in enumerate(texts))
        q = rng.choice(("Do these things:\n", "Please do this at once:\n", "")) + q
    else:
        q = " Also: ".join(texts) if rng.random() < 0.5 else " And then: ".join(texts)
    t = think(effort, "I call %s." % join([c[0] for c in cs]), "The user wants %s things. I call %s." % (NUMBER_WORDS[n], join([c[0] for c in cs])))
    vals = [plain_value(result_value(rng)) for _ in cs]
    order = list(range(n))
    if len({c[0] for c in cs}) == n and rng.random() < 0.3:
        rng.shuffle(order)
    res = [tool_result(cs[i][0], dumps({"result": vals[i]}) if rng.random() < 0.3 else vals[i]) for i in order]
    reply = " ".join("%s gives %s." % (cs[i][0], vals[i]) for i in range(n))
    return [user(q), calls(t, cs)] + res + [answer(reply, think(effort, None, "I have %s results." % NUMBER_WORDS[n]))]


def fresh_episode(rng, effort, rounds):
    """Returns (tools, namespace descriptions, messages)."""
    main = [fresh_tool(rng) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
    tools = [m[0] for m in main] + decoys(rng, main[0][1], main[0][2], rng.choice((0, 1, 1, 2, 3)))
    tools = list({t["name"]: t for t in tools}.values())
    rng.shuffle(tools)
    main = [m for m in main if any(m[0] is t for t in tools)]
    if not main:
        return fresh_episode(rng, effort, rounds)
    msgs = []
    for _ in range(rounds):
        k = rng.random()
        if k < 0.24:
            msgs += parallel_round(rng, effort, main)
        elif k < 0.30:
            verb, noun = rng.choice(VERBS), pseudo(rng)
            msgs += [user("Please %s the %s." % (verb, noun)), answer("I have no tool to %s the %s." % (verb, noun), think(effort, None, "No tool can %s the %s." % (verb, noun)))]
        else:
            msgs += one_round(rng, effort, *rng.choice(main))
    spaces = {n: "Tools for the %s." % n for n in dict.fromkeys(t["name"].split(".")[0] for t in tools if "." in t["name"]) if rng.random() < 0.3}
    return tools, spaces, msgs


# ---- everyday tools -------------------------------------------------------------------------------------------------

def P(names, typ, desc, **kw):
    return (names.split("|"), typ, desc, kw)


def city(rng):
    c = rng.choice(CITIES) if rng.random() < 0.6 else pseudo(rng).capitalize()
    k = rng.random()
    return c if k < 0.8 else c + ", " + pseudo(rng).capitalize() if k < 0.9 else rng.choice(("San ", "New ", "Port ", "Saint ")) + pseudo(rng).capitalize()


def who(rng):
    return person_name(rng)


# optional parameters that no request uses: they must be left out
UNUSED = [("unit", {"type": "string", "enum": ["celsius", "fahrenheit"]}), ("units", {"type": "string", "enum": ["metric", "imperial"]}), ("limit", {"type": "integer", "description": "At most so many"}),
          ("language", {"type": "string"}), ("verbose", {"type": "boolean", "default": False}), ("format", {"type": "string", "enum": ["text", "json"]}), ("timeout", {"type": "integer", "default": 30})]
MORE = ("Returns JSON.", "Use it when the user asks for it.", "The answer is short.", "Only call this when needed.", "It may fail.", "Returns an object.")


def extras(rng, tool):
    """Details that declarations often carry and that change nothing."""
    p = tool["parameters"]
    if rng.random() < 0.25:
        tool["description"] = tool["description"].rstrip(".") + ". " + " ".join(rng.sample(MORE, rng.randint(1, 2)))
    if rng.random() < 0.25:
        k, v = rng.choice(UNUSED)
        if k not in p["properties"]:
            p["properties"][k] = dict(v)
    if rng.random() < 0.15:
        p["additionalProperties"] = False
    return tool


# name choices, description choices, parameters (key, spec, value maker), requests, result maker, answer
EVERYDAY = [
    ("get_weather|weather|weather.get|get_current_weather|lookup_weather", "Get the weather for a city.|Current weather of a place.|Returns the weather", [("c", P("city|location|place|town", "string", "The city|Name of the place"), city)],
     ["What is the weather in {c}?", "How is the weather in {c}?", "Weather in {c}?", "Is it warm in {c} today?", "Tell me the weather for {c}."],
     lambda r, v: {"temperature": r.randint(-15, 40), "sky": r.choice(("sunny", "cloudy", "rainy", "clear", "snowy", "windy"))}, "It is {temperature} degrees and {sky} in {c}."),
    ("get_time|clock.now|time_in|world_clock", "Get the local time of a city.|Current time in a place", [("c", P("city|location|place", "string", "The city"), city)],
     ["What time is it in {c}?", "Tell me the time in {c}.", "What is the local time in {c}?"], lambda r, v: {"time": clock(r)}, "It is {time} in {c}."),
    ("send_email|mail.send|email|send_message", "Send an email.|Sends a message to a person", [("p", P("to|recipient|address", "string", "Who gets it"), who), ("s", P("subject|title", "string", "The subject"), lambda r: words(r, 2)), ("b", P("body|text|message", "string", "The text"), lambda r: words(r, 3))],
     ['Send an email to {p} with the subject "{s}" and the text "{b}".', 'Mail {p}: subject "{s}", text "{b}".', 'Write to {p}. Subject: "{s}". Text: "{b}".'], lambda r, v: {"sent": True}, "I have sent the email to {p}."),
    ("set_timer|timer.start|start_timer", "Start a timer.|Sets a timer", [("m", P("minutes|duration|length", "integer", "Minutes"), lambda r: r.randint(1, 120))],
     ["Set a timer for {m} minutes.", "Start a {m} minute timer.", "Timer, {m} minutes please."], lambda r, v: {"ok": True}, "The timer runs for {m} minutes."),
    ("add_event|calendar.add|create_event|calendar.create", "Add an event to the calendar.|Creates a calendar entry", [("t", P("title|name|event", "string", "The title"), lambda r: words(r, 2)), ("d", P("date|day", "string", "The date, YYYY-MM-DD"), date), ("h", P("time|hour|start", "string", "The time, HH:MM"), clock)],
     ['Put "{t}" in my calendar on {d} at {h}.', 'Add the event "{t}" on {d} at {h}.', 'Plan "{t}" for {d}, {h}.'], lambda r, v: {"id": code(r)}, 'I added "{t}" on {d} at {h}. The id is {id}.'),
    ("convert_currency|currency.convert|exchange", "Convert money from one currency to another.|Currency conversion", [("a", P("amount|value|sum", "number", "How much"), lambda r: r.randint(1, 999)), ("f", P("from|source|from_currency", "string", "Currency code"), lambda r: r.choice("EUR USD GBP JPY CHF SEK NOK".split())), ("o", P("to|target|to_currency", "string", "Currency code"), lambda r: r.choice("EUR USD GBP JPY CHF CAD AUD".split()))],
     ["Convert {a} {f} to {o}.", "How much is {a} {f} in {o}?", "{a} {f} in {o} please."], lambda r, v: {"result": r.randint(100, 99999) / 100}, "{a} {f} is {result} {o}."),
    ("search|web_search|search.query|find_pages", "Search the web.|Searches for pages", [("q", P("query|q|text|terms", "string", "What to search for"), lambda r: words(r, 2))],
     ['Search for "{q}".', 'Search the web for "{q}".', 'Look up "{q}" on the web.'], lambda r, v: {"title": words(r, 3), "hits": number(r, 3)}, "The first hit is {title}. There are {hits} hits."),
    ("set_light|lights.set|switch_light|home.light", "Switch a light on or off.|Controls the lights", [("r", P("room|place|where", "string", "The room"), lambda r: r.choice(ROOMS)), ("s", P("state|mode|power", "string", "on or off", enum=["on", "off"]), lambda r: r.choice(("on", "off")))],
     ["Turn {s} the light in the {r}.", "Switch the {r} light {s}.", "Light {s} in the {r}, please."], lambda r, v: {"ok": True}, "The light in the {r} is {s} now."),
    ("set_temperature|heating.set|thermostat.set", "Set the temperature of a room.|Controls the heating", [("r", P("room|zone", "string", "The room"), lambda r: r.choice(ROOMS)), ("d", P("temperature|degrees|value", "number", "Degrees Celsius"), lambda r: r.randint(15, 27))],
     ["Set the {r} to {d} degrees.", "Make it {d} degrees in the {r}.", "Heat the {r} to {d} degrees."], lambda r, v: {"ok": True}, "The {r} is set to {d} degrees."),
    ("translate|text.translate|translate_text", "Translate a text.|Translates words into another language", [("t", P("text|words|phrase", "string", "The text"), lambda r: words(r, 2)), ("l", P("language|target|to", "string", "The language"), lambda r: r.choice("German French Spanish Italian Dutch Polish Greek".split()))],
     ['Translate "{t}" into {l}.', 'What is "{t}" in {l}?', 'Say "{t}" in {l}.'], lambda r, v: {"translation": pseudo(r) + " " + pseudo(r)}, 'In {l} it is "{translation}".'),
    ("read_file|fs.read|file.read|open_file", "Read a file.|Returns the content of a file", [("p", P("path|file|filename", "string", "The path"), lambda r: r.choice(("%s.txt", "docs/%s.md", "src/%s.c", "/tmp/%s.log")) % pseudo(r))],
     ["Read the file {p}.", "What is in {p}?", "Show me {p}.", "Open {p}."], lambda r, v: {"content": words(r, 4)}, "The file {p} says: {content}"),
    ("write_file|fs.write|file.write|save_file", "Write a text to a file.|Saves text in a file", [("p", P("path|file|filename", "string", "The path"), lambda r: r.choice(("%s.txt", "docs/%s.md", "notes/%s.txt")) % pseudo(r)), ("t", P("content|text|data", "string", "The text"), lambda r: words(r, 3))],
     ['Write "{t}" to {p}.', 'Save "{t}" in the file {p}.', 'Put "{t}" into {p}.'], lambda r, v: {"ok": True}, "I wrote the text to {p}."),
    ("get_stock_price|stocks.price|quote", "Get the price of a share.|Share price of a company", [("s", P("symbol|ticker|company", "string", "The symbol"), lambda r: "".join(r.choice(string.ascii_uppercase) for _ in range(r.randint(3, 4))))],
     ["What is the price of {s}?", "How is {s} doing?", "Stock price of {s}?"], lambda r, v: {"price": r.randint(100, 99999) / 100}, "The price of {s} is {price}."),
    ("get_distance|route.distance|distance", "Distance between two places.|How far two cities are apart", [("f", P("from|start|origin", "string", "Start"), city), ("o", P("to|end|destination", "string", "End"), city)],
     ["How far is it from {f} to {o}?", "What is the distance from {f} to {o}?", "Distance between {f} and {o}?"], lambda r, v: {"km": number(r, 4)}, "It is {km} km from {f} to {o}."),
    ("book_table|restaurant.book|reserve_table", "Book a table in a restaurant.|Reserves a table", [("n", P("restaurant|name|place", "string", "The restaurant"), lambda r: pseudo(r).capitalize()), ("p", P("people|guests|seats", "integer", "How many people"), lambda r: r.randint(1, 12)), ("h", P("time|hour|at", "string", "The time"), clock)],
     ["Book a table for {p} at {n} at {h}.", "Reserve a table at {n} for {p} people at {h}.", "I need a table for {p} at {n}, {h}."], lambda r, v: {"code": code(r)}, "Your table for {p} at {n} is booked for {h}. The code is {code}."),
    ("roll_dice|dice.roll|throw_dice", "Roll dice.|Throws dice with some sides", [("n", P("count|number|dice", "integer", "How many dice"), lambda r: r.randint(1, 6)), ("s", P("sides|faces", "integer", "Sides of a die"), lambda r: r.choice((4, 6, 8, 10, 12, 20)))],
     ["Roll {n} dice with {s} sides.", "Throw {n} dice with {s} sides each."], lambda r, v: {"total": r.randint(1, 90)}, "The dice show {total} in total."),
    ("add_todo|todo.add|tasks.create|add_task", "Add a task to the list.|Creates a to-do entry", [("t", P("task|text|title", "string", "The task"), lambda r: "%s the %s" % (r.choice(VERBS), r.choice(OBJECTS)))],
     ['Add "{t}" to my tasks.', 'Put "{t}" on my to-do list.', 'New task: "{t}".'], lambda r, v: {"id": number(r, 3)}, 'I added the task "{t}" with id {id}.'),
    ("find_contact|contacts.find|phone_book", "Find the phone number of a person.|Looks up a contact", [("p", P("name|person|contact", "string", "The name"), who)],
     ["What is the phone number of {p}?", "Find the number of {p}.", "I need to call {p}. What is the number?"], lambda r, v: {"phone": "".join(r.choice(string.digits) for _ in range(7))}, "The phone number of {p} is {phone}."),
    ("play_music|music.play|player.start", "Play music.|Plays songs of an artist", [("a", P("artist|band|who", "string", "The artist"), who), ("s", P("song|track|title", "string", "The song"), lambda r: words(r, 2))],
     ['Play "{s}" by {a}.', 'I want to hear "{s}" by {a}.'], lambda r, v: {"playing": True}, '"{s}" by {a} is playing.'),
    ("calculate|calc|math.eval|calculator", "Compute the value of an expression.|A calculator", [("e", P("expression|formula|input", "string", "The expression"), lambda r: "%d %s %d" % (number(r, 4), r.choice("+-*/"), number(r, 3) + 1))],
     ["Use the calculator for {e}.", "Compute {e} with the tool.", "Calculate {e} with your calculator."], lambda r, v: {"value": number(r, 5)}, "{e} is {value}."),
]


def everyday_tool(rng, spec):
    name = rng.choice(spec[0].split("|"))
    if rng.random() < 0.15:
        name = pseudo(rng) + "_" + str(rng.randint(1, 9))
    props, keys = {}, {}
    for k, (names, typ, desc, kw), _ in spec[2]:
        n = rng.choice(names)
        while n in props:
            n = n + "_" + rng.choice("abc")
        keys[k] = n
        props[n] = {"type": typ, **({"description": rng.choice(desc.split("|"))} if rng.random() < 0.8 else {}), **kw}
    return extras(rng, {"name": name, "description": rng.choice(spec[1].split("|")), "parameters": {"type": "object", "properties": props, "required": list(props)}}), keys


def everyday_values(rng, spec):
    return {k: make(rng) for k, _, make in spec[2]}


def everyday_episode(rng, effort, rounds):
    specs = rng.sample(EVERYDAY, rng.randint(1, 4))
    built = [everyday_tool(rng, s) for s in specs]
    tools = [b[0] for b in built] + [fresh_tool(rng)[0] for _ in range(rng.choice((0, 0, 1, 2)))]
    if len({t["name"] for t in tools}) < len(tools):
        return everyday_episode(rng, effort, rounds)
    msgs = []
    for _ in range(rounds):
        n = 1 if rng.random() < 0.72 else 2
        i = rng.randrange(len(specs))
        js = [i] * n if rng.random() < 0.6 else [i] + [rng.randrange(len(specs)) for _ in range(n - 1)]
        qs, cs, res, ans = [], [], [], []
        for j in js:
            v = everyday_values(rng, specs[j])
            qs.append(rng.choice(specs[j][3]).format(**v))
            cs.append((built[j][0]["name"], {built[j][1][k]: x for k, x in v.items()}))
            r = specs[j][4](rng, v)
            res.append(tool_result(cs[-1][0], dumps(r)))
            ans.append(specs[j][5].format(**v, **{k: plain_value(x) for k, x in r.items()}))
        q = qs[0] if n == 1 else qs[0] + rng.choice((" ", " And ", " Also: ", "\n")) + qs[1]
        t = think(effort, "I call %s." % join([c[0] for c in cs]))
        msgs += [user(q), calls(t, cs)] + res + [answer(" ".join(ans), think(effort, None, "I have the %s." % ("result" if n == 1 else "results")))]
    rng.shuffle(tools)
    return tools, {}, msgs
