#!/usr/bin/env python3
"""A server that says what a test tells it to, byte for byte.

PEER_RULES names a file with a JSON object: method -> list of answers, the n-th for the n-th message
with that method, the last for all further ones. An answer is a list of lines. In a
line $ID stands for the id as received. "" -> lines at the start, "exit" -> lines at the
end of input, "code" -> exit code. A line "!sleep SECONDS", "!exit CODE", "!kill", "!close"
or "!raw TEXT" (no line feed) does that. PEER_LOG is a file for what was received.
"""
import json, os, signal, sys, time

rules = json.load(open(os.environ["PEER_RULES"]))
log = open(os.environ["PEER_LOG"], "ab", buffering=0) if os.environ.get("PEER_LOG") else None
seen = {}


def say(lines, ident):
    for line in lines:
        verb, _, rest = line.partition(" ")
        if verb == "!sleep":
            time.sleep(float(rest))
        elif verb == "!exit":
            os._exit(int(rest))
        elif verb == "!kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif verb == "!close":
            os.close(1)
        elif verb == "!raw":
            os.write(1, rest.encode("utf-8", "surrogateescape"))
        else:
            data = line.replace("$ID", ident).encode("utf-8", "surrogateescape") + b"\n"
            while data:
                data = data[os.write(1, data):]


def raw_id(message):
    return json.dumps(message.get("id"))


def one(message):
    method = message.get("method")
    if method is None:
        return
    answers = rules.get(method)
    if answers is None and "id" in message:
        answers = [['{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no such method"}}']]
    if not answers:
        return
    n = seen.get(method, 0)
    seen[method] = n + 1
    say(answers[min(n, len(answers) - 1)], raw_id(message))


say(rules.get("", []), "null")
for line in sys.stdin.buffer:
    if log:
        log.write(line)
    if not line.strip():
        continue
    message = json.loads(line)
    for m in message if isinstance(message, list) else [message]:
        one(m)
say(rules.get("exit", []), "null")
sys.exit(rules.get("code", 0))
