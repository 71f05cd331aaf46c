#!/usr/bin/env python3
"""Reads the stored files of spec/surface.json as spec/surface.md says, with no code of Hallmark's."""
import base64, json, pathlib, re, sys
sys.dont_write_bytecode = True
from check_surface import KINDS, Bad, attempt, bad, compute, jcs, number
BIG = '{"$hallmark.int":"%s"}'
def members(pairs):
    v = dict(pairs)
    if len(v) < len(pairs): bad("duplicate-member")
    if "$hallmark.int" not in v: return v
    digits = v["$hallmark.int"]
    try: big = number(digits) if len(v) == 1 and type(digits) is str and re.fullmatch("-?[1-9][0-9]*", digits) else ""
    except Bad: big = ""  # beyond doubles
    return big if big == BIG % digits else bad("reserved-member")
def plain(s): return bad("not-canonical") if number(s).startswith("{") else number(s)
def read(raw):
    try: v = json.loads(raw.decode(), object_pairs_hook=members, parse_int=plain, parse_float=plain, parse_constant=lambda s: bad("syntax"))
    except ValueError as e: bad("invalid-utf8" if isinstance(e, UnicodeDecodeError) else "syntax")
    if not isinstance(v, dict): bad("shape")
    if jcs(v.get("schema")) != '"hallmark.surface/v1"': bad("version")
    if set(v) - {"schema", "instructions", *KINDS}: bad("unknown-member")
    if type(v.get("instructions")) is not str or any(type(v.get(k)) is not list for k in KINDS): bad("shape")
    if any(0xD800 <= ord(c) <= 0xDFFF for c in jcs(v)): bad("lone-surrogate")
    # The items as a server sends them: large integers are digits. No string can look like BIG, as its quotes are escaped.
    sent = {k: [re.sub(re.escape(BIG) % "(-?[0-9]+)", r"\1", jcs(x)) for x in v[k]] for k in KINDS}
    form = compute(sent | {"instructions": v["instructions"]})
    return {"surface": form["surface"]} if form["canonical"] == jcs(v) else bad("not-canonical")
if __name__ == "__main__":
    vectors = json.loads((pathlib.Path(__file__).parent.parent / "spec/surface.json").read_text())["read"]
    wrong = [(v["name"], got) for v in vectors for got in [attempt(read, base64.b64decode(v["base64"]) if "base64" in v else v["text"].encode())]
             if got != {m: v[m] for m in ("surface", "error") if m in v}]
    print(*wrong, sep="\n") if wrong else print(len(vectors), "vectors ok")
    raise SystemExit(bool(wrong))
