"""Reads spec/digest.json and recomputes every vector with the standard library."""
import base64, binascii, hashlib, json, pathlib, re, sys

SIZE = {"sha256": 32, "sha512": 64, "sha1": 20}
FORMS = {"parse": lambda t: parse(t), "sri": lambda t: parse_sri(t), "hex": lambda t: parse_hex("sha256", t)}

def parse_hex(algorithm, text):
    if algorithm not in SIZE:
        raise LookupError(algorithm)
    if not re.fullmatch("[0-9a-fA-F]{%d}" % (2 * SIZE[algorithm]), text):
        raise ValueError(text)
    return algorithm + ":" + text.lower()

def parse(text):
    name, colon, value = text.partition(":")
    if not colon or not re.fullmatch("[a-z0-9][a-z0-9+._-]{0,31}", name):
        raise ValueError(text)
    return parse_hex(name, value)

def parse_sri(text):
    fields = [re.fullmatch("([a-z0-9][a-z0-9+._]*)-([^?]*)(?:\\?.*)?", f) for f in text.split()]
    if not fields or None in fields:
        raise ValueError(text)
    known = [(SIZE[m[1]], m[1], m[2], base64.b64decode(m[2], validate=True)) for m in fields if m[1] in SIZE]
    if not known or any(base64.b64encode(raw).decode() != value or len(raw) != size for size, _, value, raw in known):
        raise (ValueError if known else LookupError)(text)
    return [name + ":" + raw.hex() for size, name, _, raw in known if size == max(known)[0]]

def outcome(form, text):
    try:
        FORMS[form](text)
    except LookupError:
        return "unknown-algorithm"
    except (ValueError, binascii.Error):
        return "malformed"

v = json.loads((pathlib.Path(__file__).parent.parent / "spec" / "digest.json").read_text())
data = lambda x: x["text"].encode() if "text" in x else base64.b64decode(x["base64"])
wrong = [x for x in v["parse"] if parse(x["text"]) != x["algorithm"] + ":" + x["hex"] or x["weak"] != (x["algorithm"] == "sha1")]
wrong += [x for x in v["hex"] if parse_hex(x["algorithm"], x["text"]) != x["algorithm"] + ":" + x["hex"]]
wrong += [x for x in v["sri"] if parse_sri(x["text"]) != x["digests"]]
wrong += [x for x in v["hash"] if len(data(x)) != x["size"] or any(hashlib.new(a, data(x)).hexdigest() != x[a] for a in SIZE)]
wrong += [x for x in v["invalid"] if outcome(x["form"], x["text"]) != x["error"]]
print(sum(len(x) for x in v.values() if isinstance(x, list)) - len(wrong), "vectors ok")
sys.exit("disagree: " + json.dumps(wrong, indent=1) if wrong else 0)
