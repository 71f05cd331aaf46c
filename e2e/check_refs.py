"""Reads spec/refs.json and parses every vector with rules written again from spec/refs.md."""
import json, pathlib, re, sys
from urllib.parse import unquote, unquote_to_bytes

SEM = r"(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][\w-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][\w-]*))*)?(?:\+[\w-]+(?:\.[\w-]+)*)?"
SEM = SEM.replace(r"\w", "0-9A-Za-z").replace(r"\d", "[0-9]")
GOV = r"v(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?(?:\+incompatible)?"
PEP = r"v?(?:\d+!)?\d+(?:\.\d+)*(?:[-_.]?(?:alpha|a|beta|b|preview|pre|c|rc)[-_.]?\d*)?(?:-\d+|[-_.]?(?:post|rev|r)[-_.]?\d*)?(?:[-_.]?dev[-_.]?\d*)?(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?"
HOST = r"(?=[^/:?#]{1,253}(?:[:/?#]|$))(?:[A-Za-z0-9_](?:[\w-]{0,61}[A-Za-z0-9_])?)(?:\.[A-Za-z0-9_](?:[\w-]{0,61}[A-Za-z0-9_])?)*(?::(?!0)(?:[0-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]))?"
ESC = r"%(?![01][0-9A-Fa-f]|7[Ff])[0-9A-Fa-f]{2}"
TAIL = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%s)*" % ESC
DOTS = r"(?![^?#]*/(?:\.|%2[Ee]){1,2}(?:[/?#]|$))"
REPO = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
VERSION = r"(?!latest$)(?=.{1,255}$)"
FORMS = {
    "npm": r"npm:(?!(?i:node_modules|favicon\.ico)@)(?P<name>(?=.{1,214}@[^@]*$)(?:@[A-Za-z0-9_~][\w.~-]*/[A-Za-z0-9_~-][\w.~-]*|[A-Za-z0-9~][\w.~-]*))@(?P<version>%s%s)" % (VERSION, SEM),
    "pypi": r"pypi:(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)==(?P<version>(?i:%s))(?:/(?P<filename>[A-Za-z0-9][\w.+!~-]*))?" % PEP,
    "github": r"github:(?P<name>[A-Za-z0-9][\w-]{0,38}/(?!\.\.?/)[\w.-]{1,100})/(?P<version>(?!(?i:latest)/[^/]*$)(?![@-])(?!.*(?:\.\.|@\{|\./[^/]*$))(?:(?!\.)[^/~^:?*[\\]+(?<!\.lock)/)*(?!\.)[^/~^:?*[\\]+(?<!\.lock))/(?P<filename>(?!\.\.?$)[^/\\:*?\"<>|]{1,255})",
    "oci": r"oci:(?P<name>(?=localhost/|[^/]*[.:])%s/(?=[^@:]{1,255}(?:[@:]|$))%s(?:/%s)*)(?=:(?!latest$)|@)(?::(?P<version>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?" % (HOST, REPO, REPO),
    "nuget": r"nuget:(?P<name>(?=.{1,100}@)\w+(?:[.-]\w+)*)@(?P<version>\d+(?:\.\d+){0,3}(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?)",
    "cargo": r"cargo:(?P<name>[A-Za-z][\w-]{0,63})@(?P<version>%s)" % SEM,
    "go": r"go:(?P<name>(?=[a-z0-9-]*\.)[a-z0-9][a-z0-9.-]*(?<!\.)(?:/[A-Za-z0-9_~-][\w.~-]*(?<!\.))*)@(?P<version>%s)" % GOV,
    "https": DOTS + r"(?!(?i:https://github\.com)(?::443)?/[^/]+/[^/]+/releases/(?:(?:%%6C|l)atest/|download/latest/[^/]*$))(?P<url>https://%s(?:/%s)?(?:\?(?:[?]|%s)*)?)(?:#(?:[?]|%s)*)?" % (HOST, TAIL, TAIL, TAIL),
    "git": DOTS + r"git\+(?P<url>(?:https://|ssh://(?:[A-Za-z0-9_.][\w.-]*@)?)%s/(?!/*#)%s)#(?P<version>[0-9a-f]{40})" % (HOST, TAIL),
    "file": r"file:(?P<filename>(?!/|(?:\./+)*[A-Za-z]:)(?!(?:.*/)?\.\.(?:/|$))(?!(?:.*/)?\.?$)[^\\]+)",
}

def parse(s):
    bad = len(s.encode()) > 2048 or not (s.isprintable() if s.startswith("file:") else re.fullmatch("[!-~]*", s))
    for kind, form in FORMS.items():
        m = None if bad else re.fullmatch(form, s, re.ASCII)
        if m:
            d = {k: v for k, v in m.groupdict().items() if v}
            if kind == "https":  # the last segment of the path names the file
                last = unquote_to_bytes((d["url"].split("?")[0].split("/", 3) + [""])[3].split("/")[-1])
                d["filename"] = "" if re.search(rb"[/\\:]|^\.\.?$", last) or "\ufffd" in unquote(last) else last.decode()
            return {"kind": kind, **{k: v for k, v in d.items() if v}}

vectors = json.loads((pathlib.Path(__file__).parent.parent / "spec" / "refs.json").read_text())
wrong = [v for v in vectors["valid"] if parse(v["ref"]) != {k: x for k, x in v.items() if k not in ("ref", "normal")} or parse(v["normal"]) is None]
wrong += [v for v in vectors["invalid"] if parse(v["ref"])]
for v in wrong:
    print("disagree:", json.dumps(v), parse(v["ref"]), file=sys.stderr)
print(len(vectors["valid"]) + len(vectors["invalid"]) - len(wrong), "vectors ok")
sys.exit(bool(wrong))
