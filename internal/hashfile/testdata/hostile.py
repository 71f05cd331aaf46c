"""A client that keeps to no rule: hostile.py DIRECTORY SERVER [ARGUMENT...].

DIRECTORY holds allowed/file ("fine\\n") and outside/secret ("SECRET\\n"); the server may use
the first. Each transcript starts a server of its own, sends its lines, and looks at what comes back.
Whatever is sent: nothing of the outside comes out, no file changes unless told, the server answers
and goes on, and what it says is JSON, one value a line. Prints "N transcripts ok".
"""
import json, os, subprocess, sys, threading

base, server = sys.argv[1], sys.argv[2:]
allowed = os.path.join(base, "allowed")
HELLO = {"jsonrpc": "2.0", "id": "hello", "method": "initialize",
         "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "h", "version": "1"}}}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
count = 0

def call(id, tool, arguments):
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}

def read(id=1, path=None, **more):
    return call(id, "read_text_file", {"path": path or os.path.join(allowed, "file"), **more})

def files():
    found = {}
    for folder, _, names in os.walk(base):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                found[os.path.join(folder, name)] = f.read()
    return found

def play(name, lines, ids=(), hello=True, answer=None, changed=False):
    """Sends lines, waits for answers to ids, and returns them. answer replies to the server's own requests."""
    global count
    before = files()
    if hello:
        lines = [dict(HELLO, params=dict(HELLO["params"], capabilities={"roots": {}})) if answer else HELLO, READY, *lines]
    p = subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    timer = threading.Timer(60, p.kill)
    timer.start()
    def feed():
        try:
            for line in lines:
                p.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
            p.stdin.flush()
            if not ids:
                p.stdin.close()
        except (BrokenPipeError, ValueError):
            pass
    feeder = threading.Thread(target=feed)
    feeder.start()
    waiting, got, everything = set(ids), {}, b""
    while waiting or not ids:
        line = p.stdout.readline()
        if not line:
            break
        everything += line
        for message in (lambda v: v if isinstance(v, list) else [v])(json.loads(line)):
            if "method" in message and "id" in message and answer:
                reply = answer(message)
                if reply is not None:
                    p.stdin.write(json.dumps(reply).encode() + b"\n")
                    p.stdin.flush()
            elif message.get("id") in waiting:
                waiting.discard(message["id"])
                got[message["id"]] = message
    feeder.join()
    if not p.stdin.closed:
        try:
            p.stdin.close()
        except BrokenPipeError:
            pass
    p.stdout.read()
    p.wait()
    alive = timer.is_alive()
    timer.cancel()
    assert alive, name + ": hangs"
    assert not waiting, "%s: no answer to %s; %s" % (name, waiting, everything[-500:])
    assert b"SECRET" not in everything, name + ": the secret is out"
    assert p.returncode >= 0 and p.returncode != 2, "%s: ended with %d" % (name, p.returncode)
    assert changed or files() == before, name + ": files changed"
    count += 1
    return got

def refused(name, message, code=None, **more):
    got = play(name, [message, read("after")], [message["id"], "after"], **more)
    first = got[message["id"]]
    result = first.get("result", {})
    assert "error" in first or result.get("isError"), "%s: accepted: %s" % (name, first)
    if code:
        assert result.get("structuredContent", {}).get("code") == code, "%s: %s" % (name, first)
    assert "|fine" in got["after"]["result"]["content"][0]["text"], name + ": the server is not itself any more"

# What is no JSON-RPC.
fault = {"no JSON": (b"hello\n", -32700), "a number": (b"7\n", -32600), "nested without end": (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b"[" * 200000 + b"\n", -32700)}
for name, (line, code) in fault.items():  # answered without an id, and the server goes on
    got = play(name, [line, read("after")], [None, "after"])
    assert got[None]["error"]["code"] == code, got
    assert "|fine" in got["after"]["result"]["content"][0]["text"], got
play("half a line", [b'{"jsonrpc":"2.0","id":1,'])
play("nothing", [])
play("invalid UTF-8", [b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"\xff\xfe"}}}\n'], [1])
got = play("a message larger than allowed", [b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"' + b"x" * (11 << 20) + b'"}}\n', read("after")], [1, "after"])
assert got[1]["error"]["code"] == -32600 and "|fine" in got["after"]["result"]["content"][0]["text"], got
play("calls before the greeting", [read(1)], [1], hello=False)
play("an answer that nobody asked for", [{"jsonrpc": "2.0", "id": 99, "result": {"roots": [{"uri": "file:///"}]}}, read()], [1])
play("a cancellation of everything", [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": i}} for i in range(50)] + [read()], [1])
play("the greeting twice", [dict(HELLO, id="again", params=dict(HELLO["params"], capabilities={"roots": {}})), read()], ["again", 1])
play("a thousand calls at once", [read(i) for i in range(1000)], list(range(1000)))

# Arguments of every wrong kind.
for i, arguments in enumerate([None, [], "x", 7, True, {}, {"path": None}, {"path": 7}, {"path": ["a"]}, {"path": {"a": 1}}, {"path": ""},
                               {"path": "\u0000"}, {"path": "x" * 100000}, {"path": "file", "more": 1}, {"path": "file", "start_line": -1},
                               {"path": "file", "start_line": 1e308}, {"path": "file", "start_line": 2**63}, {"path": "file", "max_bytes": "all"}]):
    refused("arguments %d" % i, call("w", "read_text_file", arguments))
refused("a lone surrogate", call("w", "read_text_file", {"path": "\ud800"}), "invalid")
refused("a lone surrogate to be written", call("w", "write_text_file", {"path": allowed + "/new", "content": "a\udc00"}), "invalid")
refused("a name in other letter case", call("w", "read_text_file", {"Path": allowed + "/file"}), "invalid")
refused("an argument under two names", call("w", "read_text_file", {"path": allowed + "/file", "PATH": allowed + "/other"}), "invalid")
got = play("an argument twice", [b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"x","path":"file"}}}\n'], [1])
assert got[1]["result"]["structuredContent"]["code"] == "invalid", got
got = play("invalid UTF-8 to be written", [b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_text_file","arguments":{"path":"new","content":"caf\xe9"}}}\n'], [1])
assert got[1].get("error") or got[1]["result"]["structuredContent"]["code"] == "invalid", got
refused("an unknown tool", call("w", "format_disk", {}))
refused("a method that is none", {"jsonrpc": "2.0", "id": "w", "method": "tools/destroy"})
for path in ["/etc/passwd", base + "/outside/secret", allowed + "/../outside/secret", "../outside/secret", allowed + "/./../outside/secret",
             allowed + "/../allowed/../outside/secret", allowed + "/link", allowed + "/link/", "link", "//" + base + "/outside/secret",
             "file://" + base + "/outside/secret", allowed + "/%2e%2e/outside/secret", "~/../outside/secret"]:
    for tool, arguments in [("read_text_file", {"path": path}), ("read_text_file", {"path": path + "/"}), ("write_text_file", {"path": path, "content": "x"}),
                            ("move_file", {"source": path, "destination": allowed + "/mine"}), ("move_file", {"source": allowed + "/file", "destination": path + "2" if "link" not in path else path}),
                            ("search_files", {"path": path, "pattern": "."})]:
        refused("%s %s" % (tool, path), call("w", tool, arguments))

# Edits.
import re
h = re.match(r"\[file_hash=(\S+) ", play("a read", [read()], [1])[1]["result"]["content"][0]["text"]).group(1)
def edit(operations, **more):
    return call("w", "edit_text_file", {"path": "file", "file_hash": h, "operations": operations, **more})
refused("operations that are none", edit("all"), "invalid")
refused("an operation that is null", edit([None]), "invalid")
refused("ten thousand operations", edit([{"op": "delete", "anchor": "1:00"}] * 10000))
refused("an anchor like a pattern", edit([{"op": "delete", "anchor": "(((((.*"}]), "invalid")
refused("an anchor beyond all numbers", edit([{"op": "delete", "anchor": "9" * 10 + ":ff"}]), "anchor_not_found")
refused("content that is a number", edit([{"op": "replace", "anchor": "1:00", "content": 7}]), "invalid")
refused("a hash of another kind", dict(edit([]), params={"name": "edit_text_file", "arguments": {"path": "file", "file_hash": "md5:00", "operations": []}}), "invalid")
refused("a pattern that would take for ever", call("w", "search_files", {"pattern": "(a*)*{1000}{1000}"}), "invalid")

# Roots.
def roots(*uris):
    return lambda request: {"jsonrpc": "2.0", "id": request["id"], "result": {"roots": [{"uri": u} for u in uris]}}
for i, answer in enumerate([
    roots("file:///"), roots("file://" + base), roots("file://" + allowed + "/../outside"), roots("file://" + base + "/outside"), roots("file://" + allowed + "/link"),
    roots("http://example.com/"), roots("file://example.com/etc"), roots("file:///etc%00"), roots("", "::", "file:", "/etc"), roots(*["file:///x%d" % i for i in range(5000)]),
    lambda request: {"jsonrpc": "2.0", "id": request["id"], "result": {"roots": "all"}},
    lambda request: {"jsonrpc": "2.0", "id": request["id"], "result": {"roots": [None, 7]}},
    lambda request: {"jsonrpc": "2.0", "id": request["id"], "result": {}},
    lambda request: {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -1, "message": "\u001b[2Jno"}},
]):
    got = play("roots %d" % i, [call(1, "read_text_file", {"path": base + "/outside/secret"}), call(2, "write_text_file", {"path": base + "/outside/new", "content": "x"})], [1, 2], answer=answer)
    for message in got.values():
        assert message["result"]["isError"], message
        assert "\u001b" not in message["result"]["content"][0]["text"]
print(count, "transcripts ok")
