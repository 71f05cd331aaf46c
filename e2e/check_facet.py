"""Reads spec/canonical-tar.json and spec/facet.json: writes every canonical tar, unpacks every
archive that is not refused and recomputes its hashes, and picks every newest version."""
import base64, gzip, hashlib, io, json, pathlib, re, sys, tarfile

SPEC = pathlib.Path(__file__).parent.parent / "spec"
sha256 = lambda data: "sha256:" + hashlib.sha256(data).hexdigest()
units = lambda path: path.encode("utf-16-be")

def header(path, size):
    fields = [(0, path.encode()), (100, b"0000644"), (108, b"0000000"), (116, b"0000000"), (124, b"%011o" % size),
              (136, b"0" * 11), (148, b" " * 8), (156, b"0"), (257, b"ustar\x0000")]
    block = bytearray(512)
    for at, text in fields:
        block[at:at + len(text)] = text
    block[148:156] = (b"%o" % sum(block)).ljust(8, b"\0")
    return bytes(block)

def canonical(files):
    out = b"".join(header(p, len(files[p])) + files[p] + bytes(-len(files[p]) % 512) for p in sorted(files, key=units))
    return out + bytes(-len(out) % 10240)

def members(data):
    """A tar as another program reads it; it wants an end block, which an exact record lacks."""
    with tarfile.open(fileobj=io.BytesIO(data + bytes(1024))) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar}

def tree_agrees(v):
    files = {f["path"]: (base64.b64decode(f["base64"]) if "base64" in f else f["text"].encode()) * f.get("repeat", 1) for f in v["files"]}
    return "error" in v or (len(canonical(files)), sha256(canonical(files))) == (v["size"], v["facet-tar"])

def archive_agrees(v):
    data = gzip.decompress(base64.b64decode(v["gzip"]))
    outer = members(data)
    files = members(gzip.decompress(outer["archive.tar.gz"]))
    computed = {path: sha256(content) for path, content in files.items()}
    claims = json.loads(outer["build-manifest.json"])
    wrong = [] if claims["integrity"] == sha256(canonical(files)) else [""]
    wrong += sorted(path for path in claims["files"] if claims["files"][path] != computed[path])
    return (list(outer), sha256(data), sha256(canonical(files)), computed, wrong) == (
        ["build-manifest.json", "archive.tar.gz"], v["content_hash"], v["content_integrity"], v["files"], v.get("mismatch", []))

NUMBER = "(0|[1-9][0-9]*)"
def numbers(text, form=r"%s\.%s\.%s" % (NUMBER, NUMBER, NUMBER)):
    match = re.fullmatch(form, text)
    return tuple(map(int, match.groups())) if match and max(map(int, match.groups())) < 2 ** 53 else None

def prefix(text):
    if text in ("*", "latest"):
        return ()
    return numbers(text) or numbers(text, r"%s\.%s\.\*" % (NUMBER, NUMBER)) or numbers(text, NUMBER + r"\.\*")

def newest(v, satisfies):
    found = [n for n in map(numbers, v["among"]) if n and satisfies(n)]
    return ".".join(map(str, max(found))) if found else None

def requirement_agrees(v):
    want = prefix(v["text"])
    return "error" in v if want is None else newest(v, lambda n: n[:len(want)] == want) == v.get("newest")

def floor_agrees(v):
    floor = numbers(v["text"])
    return "error" in v if floor is None else newest(v, lambda n: n >= floor and n[0] == floor[0]) == v.get("newest")

tar, facet = (json.loads((SPEC / name).read_text()) for name in ("canonical-tar.json", "facet.json"))
checks = [(tree_agrees, v) for v in tar["trees"]] + [(requirement_agrees, v) for v in facet["requirements"]]
checks += [(lambda v: header(v["path"], v["size"]).rstrip(b"\0").decode() == v["header"], v) for v in tar["headers"]]
checks += [(lambda v: v == sorted(v, key=units), tar["order"])] + [(floor_agrees, v) for v in facet["floors"]]
checks += [(archive_agrees, v) for v in facet["archives"] if "error" not in v]
wrong = [v for agrees, v in checks if not agrees(v)]
for v in wrong:
    print("disagrees:", v)
if not wrong:
    print(len(checks), "vectors ok")
sys.exit(bool(wrong))
