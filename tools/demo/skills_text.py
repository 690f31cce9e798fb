# SPDX-License-Identifier: Apache-2.0
"""Text skills: conversation, sums, words, JSON, finding things in long texts. Each function takes a random generator and an
effort level and returns a list of messages; the same question always gets the same answer at the same level."""
from lexicon import *
from chat_format import dumps


def user(text):
    return {"role": "user", "content": text}


def answer(text, thought=None, cls=1):
    m = {"role": "assistant", "content": text, "class": cls}
    if thought:
        m["reasoning"] = thought
    return m


def think(effort, medium=None, high=None, xhigh=None, low=None):
    """The thought for this level; a missing level falls back to the one below it."""
    high = high or medium
    return {"low": low, "medium": medium, "high": high, "xhigh": xhigh or high}[effort]


# ---- conversation ---------------------------------------------------------------------------------------------------

def small_talk(rng, effort):
    q, r = rng.choice(SMALL_TALK)
    return [user(rng.choice(q)), answer(r)]


def about_glint(rng, effort):
    q, r = rng.choice(GLINT)
    return [user(rng.choice(q)), answer(r, think(effort, None, "This is about glint and me."))]


def world(rng, effort):
    k = rng.randrange(14)
    t = think(effort, None, "This is a simple fact.")
    if k < 3:
        q, r = rng.choice(WORLD)
    elif k == 3:
        w, o = rng.choice(list(OPPOSITE.items()))
        if rng.random() < 0.5:
            w, o = o, w
        q, r = rng.choice(("What is the opposite of %s?", "Give me the opposite of %s.", "Opposite of %s?")) % w, "The opposite of %s is %s." % (w, o)
    elif k == 4:
        w, o = rng.choice(list(SOUND.items()))
        q, r = rng.choice(("What sound does %s make?", "What does %s do?")) % a(w), "%s %s." % (a(w).capitalize(), o)
    elif k == 5:
        w, o = rng.choice(list(COLOUR_OF.items()))
        q, r = "What colour is %s?" % (w if w in ("snow", "grass", "coal", "blood", "milk", "chocolate") else ("the " if w in ("sky", "sea") else a(w)[:-len(w)]) + w), "It is %s." % o
    elif k == 6:
        w, o = rng.choice(list(CAPITAL.items()))
        q, r = rng.choice((("What is the capital of %s?" % w, "The capital of %s is %s." % (w, o)), ("Which country is %s the capital of?" % o, "%s is the capital of %s." % (o, w))))
    elif k == 7:
        i, s = rng.randrange(7), rng.choice((1, -1))
        q, r = "What day comes %s %s?" % ("after" if s > 0 else "before", DAYS[i]), "%s comes %s %s." % (DAYS[(i + s) % 7], "after" if s > 0 else "before", DAYS[i])
    elif k == 8:
        i, s = rng.randrange(12), rng.choice((1, -1))
        q, r = "Which month comes %s %s?" % ("after" if s > 0 else "before", MONTHS[i]), "%s comes %s %s." % (MONTHS[(i + s) % 12], "after" if s > 0 else "before", MONTHS[i])
    elif k == 9:
        kind = rng.choice(list(KIND))
        same = rng.random() < 0.5
        w = rng.choice(KIND[kind] if same else KIND[rng.choice([x for x in KIND if x != kind])])
        same = w in KIND[kind]
        w_a = w if w in FOOD + COLOURS else a(w)
        q, r = "Is %s %s?" % (w_a, a(kind)), ("Yes, %s is %s." if same else "No, %s is not %s.") % (w_a, a(kind))
    elif k == 10:
        w, o = rng.choice(list(PLURAL.items()))
        q, r = rng.choice(("What is the plural of %s?", "Give me the plural of %s.")) % w, "The plural of %s is %s." % (w, o)
    elif k == 11:
        w, o = rng.choice(list(MEANING.items()))
        q, r = rng.choice(("What is %s?" % a(w), "Explain the word %s." % w, "What does the word %s mean?" % w)), "%s is %s." % (a(w).capitalize(), o)
    elif k == 13:
        w = pseudo(rng)
        if rng.random() < 0.4:
            w = w.capitalize()
        q = rng.choice(("What is %s?", "Who is %s?", "What does %s mean?", "Tell me about %s.", "Where is %s?", "Explain %s.", "What is the capital of %s?")) % w
        r, t = "I do not know %s." % w, think(effort, None, "I do not know this.")
    else:
        kind = rng.choice(("animal", "fruit", "colour", "tool", "room", "vehicle"))
        n = rng.randint(2, 5)
        q, r = "Name %s %s." % (NUMBER_WORDS[n], plural(kind)), join(rng.sample(KIND[kind], n)).capitalize() + "."
    return [user(q), answer(r, t)]


def remember(rng, effort):
    """Facts that the user told, asked back later."""
    p, c, pet, col, n = rng.choice(PEOPLE), rng.choice(CITIES), rng.choice(ANIMALS), rng.choice(COLOURS), rng.randint(5, 90)
    if rng.random() < 0.4:
        p, c = pseudo(rng).capitalize(), pseudo(rng).capitalize()
    facts = [("My name is %s." % p, "What is my name?", "Your name is %s." % p), ("I live in %s." % c, "Where do I live?", "You live in %s." % c),
             ("I have %s." % a(pet), "Which animal do I have?", "You have %s." % a(pet)), ("My favourite colour is %s." % col, "What is my favourite colour?", "Your favourite colour is %s." % col),
             ("I am %d years old." % n, "How old am I?", "You are %d years old." % n)]
    k = rng.sample(facts, rng.randint(1, 3))
    out = [user(" ".join(x[0] for x in k)), answer("Nice to know. How can I help you?" if p not in k[0][0] else "Nice to meet you, %s!" % p)]
    if rng.random() < 0.4:
        out += world(rng, effort)
    for x in rng.sample(k, len(k)):
        out += [user(x[1]), answer(x[2], think(effort, None, "The user told me: " + x[0]))]
    return out


def story(rng, effort):
    p, pet, place, thing = rng.choice(PEOPLE), rng.choice(ANIMALS), rng.choice(PLACES), rng.choice(TOOLS + CLOTHES + FRUIT)
    adj, col = rng.choice(ADJ), rng.choice(COLOURS)
    q = rng.choice(("Tell me a short story about %s and %s.", "Write a short story about %s and %s.")) % (p, a(pet))
    s = ["%s had %s %s." % (p, a(adj), pet), "One day they went to the %s." % place, "There they found %s %s." % (a(col), thing), "The %s was very happy." % pet, "In the evening they went home together."]
    if rng.random() < 0.4:
        w = rng.choice(OBJECTS + ANIMALS + PLACES)
        return [user("Write a sentence with the word %s." % w), answer("I can see the %s from here." % w)]
    return [user(q), answer(" ".join(s), think(effort, None, "A short story with %s, %s and a happy end." % (p, a(pet))))]


def obey(rng, effort):
    """A system message that sets a rule; returns messages with the system message first."""
    k = rng.randrange(4)
    if k == 0:
        n = pseudo(rng).capitalize()
        return [{"role": "system", "content": rng.choice(("Your name is %s.", "You are %s, a helpful assistant.", "You are called %s. Be kind and short.")) % n}, user(rng.choice(("Who are you?", "What is your name?"))),
                answer("I am %s." % n, think(effort, None, "My name here is %s." % n))]
    if k == 1:
        q, r = rng.choice(WORLD)
        return [{"role": "system", "content": rng.choice(("Answer in capital letters.", "Always write in capital letters."))}, user(q), answer(r.upper(), think(effort, None, "Capital letters."))]
    if k == 2:
        w = pseudo(rng)
        q, r = rng.choice(WORLD)
        return [{"role": "system", "content": rng.choice(("End each answer with the word %s.", "Put the word %s at the end of every answer.")) % w}, user(q), answer(r + " " + w, think(effort, None, "I end with %s." % w))]
    s, v = rng.choice(OBJECTS), code(rng)
    return [{"role": "system", "content": "You are a helpful assistant. The %s code is %s." % (s, v)}, user("What is the %s code?" % s), answer("The %s code is %s." % (s, v), think(effort, None, "The system message gives the code."))]


# ---- sums -----------------------------------------------------------------------------------------------------------

def column_add(x, y):
    xs, ys, carry, out = str(x)[::-1], str(y)[::-1], 0, []
    for i in range(max(len(xs), len(ys))):
        p, q = int(xs[i]) if i < len(xs) else 0, int(ys[i]) if i < len(ys) else 0
        t = p + q + carry
        out.append("%d + %d%s = %d" % (p, q, " + 1" if carry else "", t))
        carry = t // 10
    return ", ".join(out) + ", so %d" % (x + y)


def column_sub(x, y):
    """x >= y."""
    xs, ys, b, out = str(x)[::-1], str(y)[::-1], 0, []
    for i in range(len(xs)):
        p, q = int(xs[i]), int(ys[i]) if i < len(ys) else 0
        t = p - q - b
        nb = t < 0
        out.append("%s%d - %d%s = %d" % ("1" if nb else "", p, q, " - 1" if b else "", t + 10 * nb))
        b = int(nb)
    return ", ".join(out) + ", so %d" % (x - y)


def times(x, y):
    """x of any size, y of one or two digits, by parts."""
    def one(x, d):
        if x < 10 or d < 2:
            return "%d * %d = %d" % (x, d, x * d), x * d
        t, u = x // 10 * 10, x % 10
        return "%d * %d = %d + %d = %d" % (x, d, t * d, u * d, x * d), x * d
    if y < 10:
        return one(x, y)[0]
    (s1, a1), (s2, a2) = one(x, y % 10), one(x, y // 10)
    if y % 10 == 0:
        return "%s, so %d" % (s2, x * y)
    return "%s. %s, so %d * %d = %d. %d + %d: %s" % (s1, s2, x, y // 10 * 10, a2 * 10, a2 * 10, a1, column_add(a2 * 10, a1))


def sum_steps(x, op, y):
    if op == "+":
        return "%d + %d: %s." % (x, y, column_add(x, y))
    if op == "-":
        if x < y:
            return "%d is less than %d. %d - %d: %s, so %d." % (x, y, y, x, column_sub(y, x), x - y)
        return "%d - %d: %s." % (x, y, column_sub(x, y))
    return "%d * %d: %s." % (x, y, times(x, y))


def arithmetic(rng, effort):
    op = rng.choice("+-**")
    if rng.random() < 0.75:
        x, y = rng.randint(10, 99), rng.randint(10, 99)
    else:
        x, y = number(rng, 3 if op != "*" else 2), number(rng, 3 if op != "*" else 1)
    v = {"+": x + y, "-": x - y, "*": x * y}[op]
    word = {"+": ("plus",), "-": ("minus",), "*": ("times", "multiplied by")}[op]
    sign = {"*": rng.choice(("*", "*", "x", "×"))}.get(op, op)
    q = rng.choice(("What is %d {o} %d?", "What is %d {w} %d?", "%d {o} %d", "Compute %d {o} %d.", "Calculate %d {o} %d.", "How much is %d {o} %d?", "%d {o} %d = ?", "Please work out %d {o} %d.",
                    "What's %d {o} %d?", "%d{o}%d", "What is %d{o}%d?", "%d{o}%d=")).format(o=sign, w=rng.choice(word)) % (x, y)
    steps = sum_steps(x, op, y)
    check = {"+": "Check: %d - %d = %d." % (v, y, x), "-": "Check: %d + %d = %d." % (v, y, x), "*": "Check: %d * %d is near %d." % (x, y, v)}[op]
    t = think(effort, steps, steps, steps + " " + check, steps if op == "*" and x > 9 and y > 9 else None)
    return [user(q), answer("%d %s %d = %d" % (x, op, y, v), t)]


def word_problem(rng, effort):
    p, q2 = rng.sample(PEOPLE, 2)
    x, y, f = rng.randint(2, 60), rng.randint(2, 40), plural(rng.choice(FRUIT + ["coin", "book", "card", "egg"]))
    k = rng.randrange(4)
    if k == 0:
        q, op, r = "%s has %d %s and gets %d more. How many %s does %s have now?" % (p, x, f, y, f, p), "+", x + y
    elif k == 1:
        x = x + y
        q, op, r = "%s has %d %s and gives %d to %s. How many %s are left?" % (p, x, f, y, q2, f), "-", x - y
    elif k == 2:
        y = rng.randint(2, 9)
        q, op, r = "%s has %d bags with %d %s in each. How many %s are there?" % (p, y, x, f, f), "*", x * y
    else:
        x, y = rng.sample(range(1, 99), 2)
        return [user("Which is larger, %d or %d?" % (x, y)), answer("%d is larger." % max(x, y))]
    s = sum_steps(x, op, y)
    return [user(q), answer("%s has %d %s now." % (p, r, f) if k == 0 else "There are %d %s%s." % (r, f, " left" if k == 1 else ""), think(effort, s, s, s, s if k == 2 else None))]


# ---- words ----------------------------------------------------------------------------------------------------------

SHORT = [w for w in dict.fromkeys(ANIMALS + FRUIT + FOOD + TOOLS + CLOTHES + FURNITURE + VEHICLES + PLACES + ADJ + COLOURS + OBJECTS + VERBS) if len(w) < 8]


def spell(w):
    return " ".join(w)


def strings(rng, effort):
    w = rng.choice(SHORT) if rng.random() < 0.8 else pseudo(rng, 2)
    k = rng.randrange(11)
    sp = "%s: %s" % (w, spell(w))
    if k == 0:
        return [user(rng.choice(("Reverse the word %s.", "Write %s backwards.", "Spell %s backwards.")) % w), answer(w[::-1], "%s. Backwards: %s." % (sp, spell(w[::-1])))]
    if k == 1:
        return [user(rng.choice(("Spell the word %s.", "Spell %s.")) % w), answer("-".join(w))]
    if k == 2:
        return [user(rng.choice(("How many letters are in the word %s?", "How many letters does %s have?")) % w),
                answer("The word %s has %d letters." % (w, len(w)), think("medium", ", ".join("%s %d" % (c, i + 1) for i, c in enumerate(w)) + "."))]
    if k == 3:
        e = rng.randrange(2)
        return [user("What is the %s letter of %s?" % (("first", "last")[e], w)), answer("The %s letter of %s is %s." % (("first", "last")[e], w, w[-e]), think(effort, None, sp + "."))]
    if k == 4:
        return [user(rng.choice(("Write %s in capital letters.", "Put %s in upper case.")) % w), answer(w.upper())]
    if k == 5:
        n = rng.randint(2, 5)
        return [user("Write the word %s %s times." % (w, NUMBER_WORDS[n])), answer(" ".join([w] * n))]
    if k == 6:
        xs = [rng.choice(SHORT) if rng.random() < 0.7 else pseudo(rng) for _ in range(rng.randint(2, 5))]
        sep = rng.choice((("hyphens", "-"), ("commas", ","), ("spaces", " "), ("dots", ".")))
        return [user("Join these words with %s: %s" % (sep[0], ", ".join(xs))), answer(sep[1].join(xs))]
    if k == 7:
        xs = [rng.randint(0, 99) for _ in range(rng.randint(3, 5))]
        up = rng.random() < 0.5
        return [user("Sort these numbers %s: %s" % ("from small to large" if up else "from large to small", ", ".join(map(str, xs)))), answer(", ".join(map(str, sorted(xs, reverse=not up))))]
    if k == 8:
        xs = [rng.choice(SHORT) if rng.random() < 0.6 else pseudo(rng) for _ in range(rng.randint(3, 6))]
        i = rng.randrange(len(xs))
        return [user("What is the %s word in this list: %s?" % ("first second third fourth fifth sixth".split()[i], ", ".join(xs))), answer("The %s word is %s." % ("first second third fourth fifth sixth".split()[i], xs[i]))]
    if k == 9:
        t = sentence(rng)
        return [user(rng.choice(("Repeat this sentence: %s", "Say this again: %s", "Copy this text: %s")) % t), answer(t)]
    t = " ".join(code(rng) for _ in range(rng.randint(1, 6)))
    return [user(rng.choice(("Repeat: %s", "Copy this: %s", "Say exactly: %s")) % t), answer(t)]


# ---- JSON -----------------------------------------------------------------------------------------------------------

def person_name(rng):
    return rng.choice(PEOPLE) if rng.random() < 0.5 else pseudo(rng).capitalize()


def json_skill(rng, effort):
    k = rng.randrange(5)
    keys = rng.sample(FIELDS, rng.randint(1, 4)) if rng.random() < 0.7 else [pseudo(rng) for _ in range(rng.randint(1, 4))]
    val = lambda: rng.choice((number(rng), pseudo(rng), rng.choice(SHORT), number(rng, 2), rng.choice(PEOPLE), code(rng), rng.random() < 0.5))
    say = lambda v: ("true" if v else "false") if isinstance(v, bool) else str(v)
    if k == 0:
        d = {x: val() for x in keys}
        q = rng.choice(("Write a JSON object with %s.", "Give me JSON with %s.", "Make a JSON object: %s.")) % join(["%s %s" % (x, say(v)) for x, v in d.items()])
        return [user(q), answer(dumps(d), think(effort, None, "Keys: %s." % ", ".join(d)))]
    if k == 1:
        p, n, c = person_name(rng), rng.randint(3, 95), rng.choice(CITIES) if rng.random() < 0.5 else pseudo(rng).capitalize()
        t, d = rng.choice((("%s is %d years old and lives in %s." % (p, n, c), {"name": p, "age": n, "city": c}), ("In %s there lives %s, who is %d." % (c, p, n), {"name": p, "age": n, "city": c}),
                           ("%s, %d, %s" % (p, n, c), {"name": p, "age": n, "city": c})))
        ks = rng.sample(list(d), rng.randint(1, 3))
        return [user("Extract %s as JSON: %s" % (join(ks), t)), answer(dumps({x: d[x] for x in ks}), think(effort, None, "Keys: %s." % ", ".join(ks)))]
    if k == 2:
        xs = [rng.choice(SHORT) if rng.random() < 0.6 else pseudo(rng) for _ in range(rng.randint(2, 5))] if rng.random() < 0.6 else [number(rng, 3) for _ in range(rng.randint(2, 5))]
        return [user(rng.choice(("Write this as a JSON array: %s", "Make a JSON list of: %s")) % ", ".join(map(str, xs))), answer(dumps(xs))]
    if k == 3:
        item, qty, price = rng.choice(OBJECTS), rng.randint(1, 40), rng.randint(1, 900)
        d = {"item": item, "quantity": qty, "price": price}
        schema = {"type": "object", "properties": {x: {"type": "string" if x == "item" else "integer"} for x in d}, "required": list(d)}
        return [user("Answer with JSON for this schema: %s\nText: We sold %d %s for %d." % (dumps(schema), qty, item, price)), answer(dumps(d), think(effort, None, "item, quantity and price."))]
    d = {x: val() for x in keys}
    x = rng.choice(keys)
    return [user("Here is a JSON object: %s\nWhat is %s?" % (dumps(d), x)), answer("%s is %s." % (x, say(d[x])), think(effort, None, "I look up %s." % x))]


# ---- long texts -----------------------------------------------------------------------------------------------------

def sentence(rng):
    k = rng.randrange(10)
    if k == 0: return "%s went to the %s with %s." % (rng.choice(PEOPLE), rng.choice(PLACES), rng.choice(PEOPLE))
    if k == 1: return "The %s %s is in the %s." % (rng.choice(ADJ), rng.choice(FURNITURE), rng.choice(ROOMS))
    if k == 2: return "%s likes %s and %s." % (rng.choice(PEOPLE), rng.choice(FOOD), rng.choice(FOOD))
    if k == 3: return "On %s the %s was %s." % (rng.choice(DAYS), rng.choice(PLACES), rng.choice(ADJ))
    if k == 4: return "%s %s saw %s near the %s." % (a(rng.choice(ADJ)).capitalize(), rng.choice(ANIMALS), a(rng.choice(ANIMALS)), rng.choice(PLACES))
    if k == 5: return "There are %d %s on the %s." % (rng.randint(2, 99), plural(rng.choice(FRUIT)), rng.choice(FURNITURE))
    if k == 6: return "%s bought %s %s in %s." % (rng.choice(PEOPLE), a(rng.choice(COLOURS)), rng.choice(CLOTHES), rng.choice(CITIES))
    if k == 7: return "In %s it is often %s." % (rng.choice(MONTHS), rng.choice(("warm", "cold", "wet", "dry", "dark", "bright")))
    if k == 8: return "The %s of the %s is %s." % (rng.choice(("colour", "door", "name", "end", "top")), rng.choice(VEHICLES + PLACES), rng.choice(ADJ))
    return "%s can %s the %s." % (rng.choice(PEOPLE), rng.choice(VERBS), rng.choice(OBJECTS))


SECRETS = [("The %s code of %s is %s.", "What is the %s code of %s?", "The %s code of %s is %s."), ("The %s of %s is %s.", "What is the %s of %s?", "The %s of %s is %s."),
           ("Remember: the %s for %s is %s.", "What is the %s for %s?", "The %s for %s is %s."), ("Note that the %s of %s has been set to %s.", "What was the %s of %s set to?", "The %s of %s was set to %s.")]
ATTRIBUTES = "secret access magic door safe".split()
ATTRIBUTES2 = "key password number code phone number,pin,address,token,serial number,passphrase,id".replace("key password number code phone number", "key,password,number,code,phone number").split(",")


def holder(rng):
    k = rng.randrange(5)
    return (rng.choice(PEOPLE), pseudo(rng).capitalize(), "the %s %s" % (rng.choice(ADJ), rng.choice(OBJECTS + FURNITURE)), "the " + rng.choice(PLACES + ROOMS), "project " + pseudo(rng).capitalize())[k]


def secret(rng):
    """(statement, question, reply) about a random holder and value."""
    s = rng.choice(SECRETS)
    at = rng.choice(ATTRIBUTES) if "code" in s[0] else rng.choice(ATTRIBUTES2)
    h, v = holder(rng), code(rng)
    return s[0] % (at, h, v), s[1] % (at, h), s[2] % (at, h, v), (at, h)


def retrieval(rng, effort, count, bank):
    """A long text with hidden facts and questions about them. count: tokens wanted; bank(n): n filler sentences, pre-tokenised text."""
    dense = rng.random() < 0.6
    n_facts = max(1, min(24, int(count / rng.uniform(60, 500)))) if dense else rng.randint(1, 3)
    facts, seen = [], set()
    while len(facts) < n_facts:
        f = secret(rng)
        if f[3] not in seen:
            seen.add(f[3])
            facts.append(f)
    asked = rng.sample(facts, min(len(facts), rng.randint(1, 14) if dense else len(facts)))
    body = [s for s in bank(max(0, count - 110 - 22 * n_facts - 60 * len(asked)))]
    for f in facts:
        body.insert(rng.randint(0, len(body)), f[0])
    text = " ".join(body)
    lead = rng.choice(("", "Read this text.\n\n", "Here is a text:\n\n", "Please read this and answer my question.\n\n"))
    out = []
    for i, f in enumerate(asked):
        t = think(effort, None, "I look for it in the text: " + f[0])
        q = f[1]
        if i == 0:
            where = rng.randrange(4)
            if where == 0 and len(asked) > 0:
                out += [user(lead + text), answer("I have read the text. What do you want to know?"), user(q)]
            elif where == 1:
                out += [{"role": "system", "content": "You are a helpful assistant. These are your notes.\n" + text}, user(q)]
            else:
                out.append(user(lead + text + "\n\n" + rng.choice(("", "Question: ")) + q))
        else:
            out.append(user(q))
        out.append(answer(f[2], t, 2))
    return out
