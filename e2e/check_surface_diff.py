#!/usr/bin/env python3
"""Recomputes the differences of spec/surface.json as spec/surface.md says, with no code of Hallmark's."""
import base64, fractions, json, pathlib, re, sys
sys.dont_write_bytecode = True
from check_surface import KINDS, Num, item, jcs
NONE = Num("none")  # what is not there; no JSON value has its text
UP, DOWN = "schema-widened", "schema-narrowed"
CONTRACT = {UP, DOWN, "parameter-type-changed", "schema-changed"}
CAUTIOUS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
LIMITS = set("const pattern format multipleOf propertyNames contains enum anyOf allOf not".split())
LOWER = set("minimum exclusiveMinimum minLength minItems minProperties".split())
UPPER = set("maximum exclusiveMaximum maxLength maxItems maxProperties".split())
OPEN = set("additionalProperties additionalItems unevaluatedProperties unevaluatedItems items".split())
LISTS, ONE, MAPS = {"prefixItems", "oneOf", "anyOf", "allOf"}, {"not", "if", "then", "else", "contentSchema"}, {"patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
def same(a, b): return jcs(a) == jcs(b)
def both(kind, a, b): return isinstance(a, kind) and isinstance(b, kind)
def pairs(a, b): return [(k, a.get(k, NONE), b.get(k, NONE)) for k in a | b] if both(dict, a, b) else [(i, *p) for i, p in enumerate(zip(a, b))]
def step(path, k): return path + "/" + str(k).replace("~", "~0").replace("/", "~1")
def nested(v): return [v] + [y for x in (v.values() if isinstance(v, dict) else v if isinstance(v, list) else ()) for y in nested(x)]
def compare(a, b): return (b > a) - (b < a)
def strings(v): return {x for y in nested(v) for x in ([y] if type(y) is str else y if isinstance(y, dict) else ())}
def text(path, old, new):  # what new, or the name of what was not there, has of it
    name = path.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    return set() if new is NONE else (strings(new) | ({name} if old is NONE else set())) - (set() if old is NONE else strings(old)) - WORDS
def promise(path, old, new):  # of hints: None if none differs
    sides = [v if isinstance(v, dict) and path == "/annotations" else {} if path == "/annotations" else {path.rpartition("/")[2]: v} if path.count("/") == 2 else {} for v in (old, new)]
    changed = {k: sides[1].get(k, NONE) for k in CAUTIOUS if not same(sides[0].get(k, NONE), sides[1].get(k, NONE))}
    return any(v is not NONE and v is not CAUTIOUS[k] for k, v in changed.items()) if changed else None
def severity(cls, path, old, new):
    if cls.endswith("-removed"): return "low"
    if cls.endswith(("-added", "-renamed")) or text(path, old, new): return "high"
    more = promise(path, old, new) if cls == "annotation-changed" else None
    if more is not None: return "high" if more else "low"
    return "low" if new is NONE and cls not in CONTRACT else "medium"
def change(cls, path, old=NONE, new=NONE, rated=None): return cls, rated or severity(cls, path, old, new), path
def parts(cls, path, a, b):
    if both(dict, a, b) or both(list, a, b) and len(a) == len(b):
        for k, x, y in pairs(a, b): yield from parts(cls, step(path, k), x, y)
    elif not same(a, b): yield change(cls, path, a, b)
def turn(path, a, b, way, sure): return change({1: UP, -1: DOWN}.get(way, "schema-changed") if sure else "schema-changed", path, a, b)
def rank(v): return {"true": 2, "{}": 2, "none": 2, "false": 0}.get(jcs(v), 1 if isinstance(v, dict) else None)
def schema(path, a, b, sure, defs):
    if both(dict, a, b):
        for k, x, y in pairs(a, b):
            if not same(x, y): yield from keyword(k, path, x, y, sure, defs, a, b)
    elif not same(a, b): yield turn(path, a, b, 0 if None in (rank(a), rank(b)) else compare(rank(a), rank(b)), sure)
def rational(v): return fractions.Fraction(re.sub("[^-0-9.e+]", "", v.replace("$hallmark.int", ""))) if isinstance(v, Num) and v is not NONE else None
def direction(k, a, b):  # of a keyword that is named whole: 1 widens, -1 narrows
    if k in LOWER | UPPER and None not in (rational(a), rational(b)): return compare(rational(a), rational(b)) * (1 if k in UPPER else -1)
    if k == "uniqueItems": return {("none", "true"): -1, ("false", "true"): -1, ("true", "none"): 1, ("true", "false"): 1}.get((jcs(a), jcs(b)), 0)
    if k in ("enum", "anyOf", "allOf") and both(list, a, b):
        p, q = set(map(jcs, a)), set(map(jcs, b))
        if k == "enum": return (p < q) - (p > q)
        return (-1 if k == "allOf" else 1) * ((p <= q) if len(a) < len(b) else -(q <= p))
    return (b is NONE) - (a is NONE) if k in LIMITS | LOWER | UPPER else 0
def below(k, a, b):  # what is compared as schemas: step or "", old, new; None if the keyword is named whole
    if k in LISTS or k == "items" and (isinstance(a, list) or isinstance(b, list)): return pairs(a, b) if both(list, a, b) and len(a) == len(b) else None
    if k in OPEN or k in ONE and a is not NONE and b is not NONE: return [(None, a, b)]
    return pairs(a, b) if k in MAPS and both(dict, a, b) else None
def keyword(k, at, a, b, sure, defs, x, y):
    path, schemas = step(at, k), below(k, a, b)
    if k == "description": yield change("description-changed", path, a, b)
    elif k == "type": yield change("parameter-type-changed", path, a, b)
    elif k == "properties" and (both(dict, a, b) or isinstance(a, dict) and a and b is NONE or isinstance(b, dict) and b and a is NONE):
        for name, p, q in pairs({} if a is NONE else a, {} if b is NONE else b):
            if p is NONE or q is NONE: yield change("parameter-added" if p is NONE else "parameter-removed", step(path, name))
            else: yield from schema(step(path, name), p, q, sure, defs)
    elif k == "required" and all(v is NONE or isinstance(v, list) and all(type(n) is str for n in v) for v in (a, b)) and set(() if a is NONE else a) != set(() if b is NONE else b):
        for name in set(() if a is NONE else a) ^ set(() if b is NONE else b):
            was, now = (isinstance(v.get("properties"), dict) and name in v["properties"] for v in (x, y))
            became = "parameter-optional" if a is not NONE and name in a else "parameter-required"
            if was == now or was == (became == "parameter-required"): yield change(became, step(step(at, "properties"), name), rated="medium") if was else change(became, path, new=NONE if became == "parameter-optional" else name, rated="medium" if became == "parameter-optional" else None)
    elif schemas is not None:
        sure = sure and k not in ONE | {"oneOf"} and (defs or k not in ("$defs", "definitions"))
        for name, p, q in schemas: yield from schema(path if name is None else step(path, name), p, q, sure and (k in OPEN or p is not NONE and q is not NONE), defs)
    elif k in LISTS | OPEN | ONE | MAPS | LIMITS | LOWER | UPPER | {"properties", "required", "uniqueItems"}: yield turn(path, a, b, direction(k, a, b), sure)
    else: yield from parts("schema-changed", path, a, b)
def tool(k, a, b):
    if k != "inputSchema" or a is NONE or b is NONE:
        if k in ("description", "inputSchema"): return [change("description-changed" if k == "description" else "schema-changed", step("", k), a, b)]
        return parts({"annotations": "annotation-changed", "outputSchema": "output-schema-changed"}.get(k, "member-changed"), step("", k), a, b)
    names = {n for v in nested([a, b]) if isinstance(v, dict) for n in v}
    sure = not names & {"unevaluatedProperties", "unevaluatedItems"}
    return schema(step("", k), a, b, sure, sure and not names & {"not", "if", "oneOf"})
def items(listing, kind):
    sent = [item(kind, base64.b64decode(x["base64"]) if isinstance(x, dict) else x.encode()) for x in listing.get(kind, [])]
    return {v[KINDS[kind][1]]: v for v in sent}
def diff(old, new):
    found = [("instructions", *change("instructions-changed", "", *(v.get("instructions") or NONE for v in (old, new))))] if old.get("instructions", "") != new.get("instructions", "") else []
    for kind, (prefix, naming) in KINDS.items():
        a, b, here = items(old, kind), items(new, kind), []
        gone = sorted(a.keys() - b.keys(), key=str.encode)
        for name in sorted(b.keys() - a.keys(), key=str.encode):
            origin = [g for g in gone if kind == "tools" and same(a[g], b[name] | {naming: g})]
            here.append((name, *(change("tool-renamed", "/name") if origin else change(prefix + "-added", ""))))
            gone = [g for g in gone if g not in origin[:1]]
        here += [(name, *change(prefix + "-removed", "")) for name in gone]
        for name in a.keys() & b.keys():
            if kind != "tools": here += [(name, *c) for c in parts(prefix + "-changed", "", a[name], b[name])]
            else: here += [(name, *c) for k, p, q in pairs(a[name], b[name]) if not same(p, q) for c in tool(k, p, q)]
        found += [(prefix + ":" + name, *c) for name, *c in sorted(here, key=lambda c: (c[0].encode(), c[3].encode(), c[1]))]
    return [dict(zip(("item", "class", "severity", "path"), c)) for c in found]
if __name__ == "__main__":
    vectors = json.loads((pathlib.Path(__file__).parent.parent / "spec/surface.json").read_text())
    WORDS, vectors = set(vectors["words"]), vectors["diff"]
    wrong = [ascii((v["name"], got, v["changes"])) for v in vectors for got in [diff(v["old"], v["new"])] if got != v["changes"]]
    print(*wrong, sep="\n") if wrong else print(len(vectors), "vectors ok")
    raise SystemExit(bool(wrong))
