#!/usr/bin/env python3
"""Recomputes the vectors of spec/surface.json as spec/surface.md says, with no code of Hallmark's."""
import base64, decimal, fractions, hashlib, json, pathlib
class Bad(Exception): pass
class Num(str): pass  # a number in canonical form
KINDS = {"tools": ("tool", "name"), "prompts": ("prompt", "name"), "resources": ("resource", "uri"), "resourceTemplates": ("template", "uriTemplate")}
SCHEMAS = set("additionalItems additionalProperties allOf anyOf contains contentSchema else if items not oneOf prefixItems propertyNames then unevaluatedItems unevaluatedProperties".split())
MAPS = set("$defs definitions dependencies dependentSchemas patternProperties properties".split())
EMPTY = {"title": "", "description": "", "annotations": {}, "_meta": {}, "icons": []}
def bad(problem): raise Bad(problem)
def number(s):
    f = float(s) if len(s) <= 1024 else bad("number")
    exact = fractions.Fraction(s) if 2**53 <= abs(f) < float("inf") else 0
    if abs(f) == float("inf") or abs(exact) > 2**53 and exact.denominator > 1: bad("number")
    if abs(exact) > 2**53: return Num('{"$hallmark.int":"%d"}' % exact)
    digits, _, exponent = repr(f).partition("e-")  # ECMAScript has no exponent from 1e-6 up to 1e21
    if exponent and int(exponent) > 6: return Num(digits.removesuffix(".0") + "e-" + str(int(exponent)))
    return Num(format(decimal.Decimal(repr(f)), "f").removesuffix(".0") if f else "0")
def members(pairs):
    if len(dict(pairs)) < len(pairs): bad("duplicate-member")
    return bad("reserved-member") if "$hallmark.int" in dict(pairs) else dict(pairs)
def parse(raw):
    try: v = json.loads(raw.decode(), object_pairs_hook=members, parse_int=number, parse_float=number, parse_constant=lambda s: bad("syntax"))
    except ValueError as e: bad("invalid-utf8" if isinstance(e, UnicodeDecodeError) else "syntax")
    if any(0xD800 <= ord(c) <= 0xDFFF for c in json.dumps(v, ensure_ascii=False)): bad("lone-surrogate")
    return v if depth(v) <= 128 else bad("depth")
def depth(v): return 1 + max(map(depth, v.values() if isinstance(v, dict) else v), default=0) if isinstance(v, (dict, list)) else 0
def jcs(v):
    if isinstance(v, list): return "[" + ",".join(map(jcs, v)) + "]"
    if isinstance(v, dict): return "{" + ",".join(jcs(k) + ":" + jcs(v[k]) for k in sorted(v, key=lambda k: k.encode("utf-16-be"))) + "}"
    return v if isinstance(v, Num) else json.dumps(v, ensure_ascii=False)
def schema(s):
    for k, v in s.items() if isinstance(s, dict) else ():
        if k == "required" and isinstance(v, list) and all(type(x) is str for x in v): v.sort(key=str.encode)
        for x in (v if isinstance(v, list) else [v]) if k in SCHEMAS else v.values() if k in MAPS and isinstance(v, dict) else (): schema(x)
def item(kind, raw):
    v, name = parse(raw), KINDS[kind][1]
    if not isinstance(v, dict): bad("shape")
    if type(v.get(name)) is not str or not v[name]: bad("name")
    for s in ("inputSchema", "outputSchema") if kind == "tools" else (): schema(v.get(s))
    return {k: x for k, x in v.items() if not (k in EMPTY and (x is None or type(x) is type(EMPTY[k]) and not x))}
def sha(v): return "sha256:" + hashlib.sha256(jcs(v).encode()).hexdigest()
def compute(c):
    form, items = {"schema": "hallmark.surface/v1", "instructions": c.get("instructions", "")}, {}
    if form["instructions"]: items["instructions"] = sha(form["instructions"])
    for kind, (prefix, name) in KINDS.items():
        sent = [base64.b64decode(x["base64"]) if isinstance(x, dict) else x.encode() for x in c.get(kind, [])]
        form[kind] = sorted((item(kind, x) for x in sent), key=lambda v: v[name].encode())
        if len({v[name] for v in form[kind]}) < len(sent): bad("duplicate-item")
        items |= {prefix + ":" + v[name]: sha(v) for v in form[kind]}
    api = {"schema": form["schema"], "tools": [{m: t[m] for m in ("name", "description", "inputSchema") if m in t} for t in form["tools"]]}
    return {"canonical": jcs(form), "surface": sha(form), "api_surface": sha(api), "items": items}
def attempt(f, x):
    try: return f(x)
    except Bad as e: return {"error": str(e)}
if __name__ == "__main__":
    vectors = json.loads((pathlib.Path(__file__).parent.parent / "spec/surface.json").read_text())
    got = {c["name"]: attempt(compute, c) for c in vectors["cases"]} | {n["json"]: attempt(lambda s: {"canonical": jcs(parse(s.encode()))}, n["json"]) for n in vectors["numbers"]}
    wrong = [k for c in vectors["cases"] + vectors["numbers"] for k in [c.get("name", c.get("json"))] if got[k] != {m: c[m] for m in got[k] | c if m in ("error", "canonical", "surface", "api_surface", "items")}]
    wrong += [p for p in vectors["pairs"] for d in ("surface", "api_surface") if (got[p["a"]][d] == got[p["b"]][d]) != (p[d] == "same")]
    print(*wrong, sep="\n") if wrong else print(len(got) + len(vectors["pairs"]), "vectors ok")
    raise SystemExit(bool(wrong))
