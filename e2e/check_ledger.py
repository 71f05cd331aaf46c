"""Reads spec/ledger.json and recomputes every vector with the standard library. Signatures are not looked at."""
import base64, datetime, hashlib, json, pathlib, re, sys

sha = lambda b: hashlib.sha256(b).digest()
leaf_hash = lambda b: sha(b"\0" + b)
node = lambda a, b: sha(b"\1" + a + b)
DIGEST = re.compile("sha256:[0-9a-f]{64}")
PUBLISHES = {"server", "artifact", "facet", "plugin"}

def need(ok, what="malformed"):
    if not ok:
        raise ValueError(what)

def number(s):
    need(re.fullmatch("0|[1-9][0-9]{0,15}", s) and int(s) <= 2**53)
    return int(s)

def hash32(s):
    raw = base64.b64decode(s, validate=True)
    need(len(raw) == 32 and base64.b64encode(raw).decode() == s)
    return raw

def leaf(raw):
    text = raw.decode()
    m = json.loads(text)
    need(isinstance(m, dict) and len(raw) <= 65535)
    # Every text is a plain one or the only number 1, so that this is RFC 8785; sorting is by ASCII names.
    need(json.dumps(m, sort_keys=True, separators=(",", ":"), ensure_ascii=False) == text and type(m.get("v")) is int and m["v"] == 1)
    allowed = {"v", "kind", "name", "version", "document", "publisher", "at"}
    more = {"content_integrity", "api_surface"} if m.get("kind") in PUBLISHES else {"of"} | ({"status"} if m.get("kind") == "status" else set())
    need(m.get("kind") in PUBLISHES | {"status", "finding"} and allowed <= set(m) <= allowed | more)
    need(m["kind"] in PUBLISHES or (m.get("of") in PUBLISHES and (m["kind"] == "finding" or m.get("status") in {"active", "deprecated", "deleted"})))
    need(all(isinstance(x, str) for k, x in m.items() if k != "v"))
    need(all(DIGEST.fullmatch(m[k]) for k in ("document", "content_integrity", "api_surface") if k in m))
    for k, most in (("name", 512), ("version", 1024), ("publisher", 1024)):
        need(0 < len(m[k].encode()) <= most and not re.search("[\0-\x1f\x7f-\x9f]", m[k]))
    need(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", m["at"]) and datetime.datetime.fromisoformat(m["at"]).year >= 1970)
    return m

def root(hashes):
    if len(hashes) < 2:
        return hashes[0] if hashes else sha(b"")
    k = 1 << (len(hashes) - 1).bit_length() - 1
    return node(root(hashes[:k]), root(hashes[k:]))

def included(h, index, size, proof):  # RFC 9162, 2.1.3.2
    need(index < size, "fork")
    fn, sn = index, size - 1
    for p in proof:
        need(sn, "fork")
        if fn & 1 or fn == sn:
            h = node(p, h)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            h = node(h, p)
        fn, sn = fn >> 1, sn >> 1
    need(not sn, "fork")
    return h

def consistent(m, n, older, newer, proof):  # RFC 9162, 2.1.4.2
    need(m <= n, "fork")
    if m == n:
        return need(older == newer and not proof, "fork")
    need(proof, "fork")
    path = ([older] if m & (m - 1) == 0 else []) + proof
    fn, sn = m - 1, n - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    a = b = path[0]
    for c in path[1:]:
        need(sn, "fork")
        if fn & 1 or fn == sn:
            a, b = node(c, a), node(c, b)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            b = node(b, c)
        fn, sn = fn >> 1, sn >> 1
    need(a == older and b == newer and not sn, "fork")

def checkpoint(note):
    text, blank, signatures = note.rpartition("\n\n")
    need(blank and signatures.startswith("— ") and signatures.endswith("\n"), "signature")
    lines = text.split("\n")
    need(3 <= len(lines) <= 19 and all(lines) and re.fullmatch(r"[^\s+\0-\x1f]{1,255}", lines[0]))
    return number(lines[1]), hash32(lines[2])

def proof(text):
    head, blank, note = text.partition("\n\n")
    lines = head.split("\n")
    need(blank and note and 3 <= len(lines) <= 66 and lines[0] == "c2sp.org/tlog-proof@v1" and lines[1].startswith("extra ") and lines[2].startswith("index "))
    entry, index, hashes = base64.b64decode(lines[1][6:], validate=True), number(lines[2][6:]), [hash32(x) for x in lines[3:]]
    size, top = checkpoint(note)
    leaf(entry)
    need(included(leaf_hash(entry), index, size, hashes) == top, "fork")
    return index, entry.decode()

def tile(path):
    m = re.fullmatch(r"tile/(entries|[0-7])/((?:x\d{3}/)*\d{3})(?:\.p/([1-9]\d{0,2}))?", path)
    need(m and not re.match("x000", m[2]) and int(m[3] or 1) < 256)
    n = int(m[2].replace("x", "").replace("/", ""))
    need(n < 2**45)
    return {"level": -1 if m[1] == "entries" else int(m[1]), "n": n, "width": int(m[3] or 256), "path": path}

def bundle(raw, width):
    out = []
    while raw:
        need(len(raw) >= 2 and len(raw) >= 2 + int.from_bytes(raw[:2], "big"))
        end = 2 + int.from_bytes(raw[:2], "big")
        out, raw = out + [raw[2:end].decode()], raw[end:]
    need(len(out) == width)
    return out

def fault(f, *args):
    try:
        f(*args)
    except (ValueError, KeyError) as e:
        return str(e) if str(e) in ("fork", "signature") else "malformed"

v = json.loads((pathlib.Path(__file__).parent.parent / "spec" / "ledger.json").read_text())
b64 = base64.b64decode
wrong = [x for x in v["leaves"] if leaf(x["text"].encode()) != x["members"] or leaf_hash(x["text"].encode()) != b64(x["hash"])]
wrong += [x for x in v["invalid_leaves"] if not fault(leaf, x["text"].encode() if "text" in x else b64(x["base64"]))]
wrong += [x for x in v["status_documents"] if "sha256:" + sha(json.dumps({"message": x["message"], "status": x["status"]}, ensure_ascii=False, separators=(",", ":")).encode()).hex() != x["digest"]]
base = json.loads(v["trees"]["leaf"])
hashes = [leaf_hash(json.dumps({**base, "version": f"1.0.{i}"}, sort_keys=True, separators=(",", ":")).encode()) for i in range(300)]
wrong += [x for x in v["trees"]["sizes"] if root(hashes[: x["size"]]) != b64(x["root"])]
both = lambda x: (x["older"], x["newer"], b64(x["older_root"]), b64(x["newer_root"]), [hash32(h) for h in x["proof"]])
wrong += [x for x in v["consistent"] if fault(consistent, *both(x))] + [x for x in v["inconsistent"] if fault(consistent, *both(x)) != "fork"]
wrong += [x for x in v["checkpoints"] if checkpoint(x["note"]) != (x["size"], b64(x["root"]))]
wrong += [x for x in v["invalid_checkpoints"] if x["error"] == "malformed" and fault(checkpoint, x["note"]) != "malformed"]
wrong += [x for x in v["proofs"] if proof(x["text"]) != (x["index"], x["leaf"])]
wrong += [x for x in v["invalid_proofs"] if x["error"] != "signature" and fault(proof, x["text"]) != x["error"]]
wrong += [x for x in v["tiles"] if tile(x["path"]) != x] + [x for x in v["invalid_tiles"] if not fault(tile, x)]
wrong += [x for x in v["bundles"] if bundle(b64(x["base64"]), len(x["leaves"])) != x["leaves"]]
wrong += [x for x in v["invalid_bundles"] if not fault(bundle, b64(x["base64"]), x["width"])]
total = sum(len(x) for x in v.values() if isinstance(x, list)) + len(v["trees"]["sizes"])
print(total - len(wrong), "vectors ok")
sys.exit("disagree: " + json.dumps(wrong, indent=1) if wrong else 0)
