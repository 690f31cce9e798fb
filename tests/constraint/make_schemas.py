# SPDX-License-Identifier: Apache-2.0
"""make_schemas.py: random JSON schemas of everything that constraints enforce.

    from make_schemas import schema        schema(seed) -> a schema, the same on every machine
"""
import random

WORDS = ("name", "id", "path", "mode", "size", "tags", "a b", "é", "start-line", "x.y", "quote\"d",
         "back\\slash", "kind", "value", "next", "items", "unit", "日本", "enabled", "0")
PATTERNS = ("^[a-z]+$", "^[A-Z]{2,4}-\\d{1,6}$", "^(GET|PUT|POST)$", "^\\d{4}-\\d{2}-\\d{2}$",
            "^[^/]+/[^/]+$", "^#[0-9a-fA-F]{6}$", "^(?:a|bc)*d?$", "foo", "^v\\d+(\\.\\d+){0,2}$",
            "^[\\w.+-]+@[\\w-]+\\.[a-z]{2,}$", "\\.(?:txt|md)$", "^\\S+$", "^.{2,5}$",
            "^[\"\\\\]{1,3}$")
NUMBERS = (-1e3, -12.5, -3, -1, 0, 0.25, 1, 2, 7, 10.75, 100, 4096, 65535, 123456789)


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.definitions = {}

    def one_of(self, options):
        return self.random.choice(options)

    def chance(self, share):
        return self.random.random() < share

    def text(self):
        out = {"type": "string"}
        if self.chance(0.3):
            out["pattern"] = self.one_of(PATTERNS)
        elif self.chance(0.5):
            least = self.random.randrange(0, 8)
            out["minLength"] = least
            out["maxLength"] = least + self.random.randrange(0, 30)
            if self.chance(0.3):
                del out[self.one_of(("minLength", "maxLength"))]
        return out

    def number(self, kind):
        out = {"type": kind}
        if self.chance(0.6):
            low, high = sorted(self.random.sample(NUMBERS, 2))
            out[self.one_of(("minimum", "exclusiveMinimum"))] = low
            if self.chance(0.7):
                out[self.one_of(("maximum", "exclusiveMaximum"))] = high
        if self.chance(0.2):
            out["multipleOf"] = self.one_of((1, 2, 3, 5, 10, 0.5, 0.25))
        return out

    def listed(self):
        values = ("red", "green", "blue\n", "", "</tag>", 1, 2, -3.5, True, False, None, [1, "a"],
                  {"k": [None]}, "1", "true", "é\"")
        picked = self.random.sample(values, self.random.randrange(1, 6))
        return {"const": picked[0]} if self.chance(0.2) else {"enum": picked}

    def array(self, depth):
        out = {"type": "array", "items": self.value(depth - 1)}
        least = self.random.randrange(0, 3)
        if self.chance(0.6):
            out["minItems"] = least
            out["maxItems"] = least + self.random.randrange(0, 4)
        if self.chance(0.15):
            out["prefixItems"] = [self.value(depth - 1) for _ in range(self.random.randrange(1, 3))]
            if self.chance(0.3):
                out["items"] = False
                out.pop("minItems", None)
        elif self.chance(0.1):
            out = {"type": "array", "uniqueItems": True, "minItems": 1,
                   "items": {"enum": self.random.sample(WORDS, 4)}}
        return out

    def object(self, depth):
        names = self.random.sample(WORDS, self.random.randrange(0, 6))
        out = {"type": "object", "properties": {n: self.value(depth - 1) for n in names}}
        if names and self.chance(0.7):
            out["required"] = self.random.sample(names, self.random.randrange(1, len(names) + 1))
        pick = self.random.random()
        if pick < 0.5:
            out["additionalProperties"] = False
        elif pick < 0.6:
            out["additionalProperties"] = self.value(depth - 1)
        elif pick < 0.7:
            out["additionalProperties"] = True
        if self.chance(0.1):
            out["maxProperties"] = len(out.get("required", ())) + 1
        elif names and self.chance(0.1):
            out["minProperties"] = 1
        return out

    def branches(self, depth):
        kind = self.random.random()
        if kind < 0.5:
            return {"anyOf": [self.value(depth - 1) for _ in range(self.random.randrange(1, 4))]}
        if kind < 0.8:  # told apart by a property
            return {"oneOf": [
                {"type": "object", "required": ["kind"],
                 "properties": {"kind": {"const": k}, "value": self.value(depth - 1)}}
                for k in self.random.sample(("a", "b", "c", "dd"), self.random.randrange(1, 4))]}
        return {"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "array",
                                                                     "items": self.value(0)}]}

    def joined(self, depth):
        first, second = self.object(depth), self.object(depth)
        first.pop("additionalProperties", None)
        second.pop("additionalProperties", None)
        return {"allOf": [first, second], "description": "both"}

    def tree(self, depth):
        name = f"n{len(self.definitions)}"
        self.definitions[name] = None
        self.definitions[name] = {
            "type": "object", "required": ["value"], "additionalProperties": False,
            "properties": {"value": self.value(min(depth, 1) - 1),
                           "left": {"$ref": f"#/$defs/{name}"},
                           "list": {"type": "array", "items": {"$ref": f"#/$defs/{name}"},
                                    "maxItems": 2}}}
        return {"$ref": f"#/$defs/{name}"}

    def value(self, depth):
        pick = self.random.random()
        if depth <= 0 or pick < 0.35:
            leaf = self.random.randrange(7)
            if leaf < 2:
                return self.text()
            if leaf < 4:
                return self.number(self.one_of(("integer", "number")))
            if leaf == 4:
                return self.listed()
            return {"type": self.one_of(("boolean", "null", ["string", "null"],
                                         ["integer", "boolean"]))}
        if pick < 0.6:
            return self.object(depth)
        if pick < 0.75:
            return self.array(depth)
        if pick < 0.88:
            return self.branches(depth)
        if pick < 0.94:
            return self.joined(depth)
        return self.tree(depth)


def schema(seed):
    maker = Maker(seed)
    out = maker.value(3)
    if maker.definitions:
        out = dict(out)
        out["$defs"] = maker.definitions
    return out
