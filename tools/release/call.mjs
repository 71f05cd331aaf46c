// Starts the server "files" as a client's configuration says, prefixed by the words of the command line, and calls it.
//
//	node call.mjs CONFIG [PREFIX...]
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [config, ...prefix] = process.argv.slice(2);
const text = readFileSync(config, "utf8").replace(/^\s*\/\/.*$/gm, "");
const { command, args } = JSON.parse(text).mcpServers.files;
if (args[0] !== "run") throw new Error(`the entry starts ${command} ${args.join(" ")}, not through hallmark`);
const [program, ...rest] = [...prefix, command, ...args];
const server = spawn(program, rest, { stdio: ["pipe", "pipe", "inherit"] });
const send = (message) => server.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const client = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "try", version: "1" } };
send({ id: 0, method: "initialize", params: client });
send({ method: "notifications/initialized" });
send({ id: 1, method: "tools/call", params: { name: "list_directory", arguments: { path: "." } } });
const late = setTimeout(() => { throw new Error("no answer"); }, 120_000);
for await (const line of createInterface({ input: server.stdout })) {
  const { id, result, error } = JSON.parse(line);
  if (id !== 1) continue;
  if (error || result.isError) throw new Error(line);
  break;
}
clearTimeout(late);
server.stdin.end();
