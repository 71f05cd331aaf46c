// The official TypeScript SDK's client against the editing server:
//
//	node hashfile_client.mjs DIRECTORY SERVER [ARGUMENT...]
//
// from a directory where the SDK is installed. DIRECTORY holds a/f and b/f ("one\ntwo\n") and is
// what the server's --root allows. For each protocol version that the SDK speaks the server is
// used without roots, when every tool is called, with roots that narrow, and with roots that change.
// Prints "N versions ok".
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const here = createRequire(path.join(process.cwd(), "package.json"));
const load = (name) => import(pathToFileURL(here.resolve("@modelcontextprotocol/sdk/" + name)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { ListRootsRequestSchema, SUPPORTED_PROTOCOL_VERSIONS } = await load("types.js");

const [directory, command, ...args] = process.argv.slice(2);
const uri = (name) => pathToFileURL(path.join(directory, name)).href;

async function connect(version, roots) {
  const transport = new StdioClientTransport({ command, args, env: process.env });
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (message.method === "initialize") message = { ...message, params: { ...message.params, protocolVersion: version } };
    return send(message, options);
  };
  const client = new Client({ name: "check", version: "1" }, { capabilities: roots ? { roots: { listChanged: true } } : {} });
  client.asked = 0;
  if (roots)
    client.setRequestHandler(ListRootsRequestSchema, () => {
      client.asked++;
      return { roots: roots.map((name) => ({ uri: uri(name) })) };
    });
  await client.connect(transport);
  return client;
}

const call = (client, name, args) => client.callTool({ name, arguments: args });
const read = (client, name) => call(client, "read_text_file", { path: path.join(directory, name) });
const code = (result) => (result.isError ? result.structuredContent.code : "");

// The file_hash of an answer, which is in its first line.
const hash = (result) => result.content[0].text.match(/^\[file_hash=(\S+) total_lines=\d+/)[1];
const anchor = (result, line) => result.content[0].text.split("\n").find((l) => l.endsWith("|" + line)).split("|")[0];

// Calls every tool that the server lists, and looks at what it did.
async function drive(client) {
  const listed = (await client.listTools()).tools.map((tool) => tool.name).sort();
  const called = new Set();
  const base = path.join(directory, "every");
  const at = (...names) => path.join(base, ...names);
  const text = async (name, args) => {
    called.add(name);
    const result = await call(client, name, args);
    assert(!result.isError, JSON.stringify(result));
    return result;
  };
  const shows = async (name, args, part) => {
    const result = await text(name, args);
    assert(result.content[0].text.includes(part), `${name}: ${JSON.stringify(result)}`);
  };
  await text("create_directory", { path: at("sub") });
  await text("write_text_file", { path: at("sub/f"), content: "one\ntwo\n" });
  const got = await text("read_text_file", { path: at("sub/f") });
  const edited = await text("edit_text_file", {
    path: at("sub/f"), file_hash: hash(got), operations: [{ op: "delete", anchor: anchor(got, "one") }],
  });
  assert.equal(fs.readFileSync(at("sub/f"), "utf8"), "two\n");
  await text("write_text_file", { path: at("sub/f"), file_hash: hash(edited), content: "drei\n" });
  await shows("read_multiple_files", { paths: [at("sub/f"), at("none")] }, "|drei");
  await shows("search_files", { path: base, pattern: "^d.*i$" }, "|drei");
  await text("move_file", { source: at("sub/f"), destination: at("g") });
  await shows("list_directory", { path: base }, "[FILE] g");
  await shows("list_directory", { path: base, recursive: true }, "sub/");
  await text("list_directory", { path: at("g") });
  await shows("list_directory", {}, directory);
  assert.deepEqual([...called].sort(), listed);
  fs.rmSync(base, { recursive: true });
}

for (const version of SUPPORTED_PROTOCOL_VERSIONS) {
  // Without roots: list, read, edit with the anchors of the answer, and once more with the old hash.
  let client = await connect(version);
  const { tools } = await client.listTools();
  assert(tools.some((t) => t.name === "edit_text_file" && t.inputSchema.required.includes("file_hash")));
  assert(client.getInstructions().includes("NUMBER:TAG"));
  fs.writeFileSync(path.join(directory, "a/f"), "one\ntwo\n");
  const got = await read(client, "a/f");
  const [, first] = got.content[0].text.split("\n");
  assert.equal(first.slice(first.indexOf("|") + 1), "one");
  const edit = {
    path: path.join(directory, "a/f"), file_hash: hash(got),
    operations: [{ op: "insert_before", anchor: first.slice(0, first.indexOf("|")), content: "zero" }],
  };
  const edited = await call(client, "edit_text_file", edit);
  assert.equal(code(edited), "");
  assert.equal(fs.readFileSync(path.join(directory, "a/f"), "utf8"), "zero\none\ntwo\n");
  assert.equal(code(await call(client, "edit_text_file", edit)), "stale");
  assert.equal(code(await read(client, "../f")), "outside_roots");
  await drive(client);
  await client.close();

  // With roots, which narrow, and which are asked for again when they change.
  const roots = ["a"];
  client = await connect(version, roots);
  assert.equal(code(await read(client, "a/f")), "");
  assert.equal(code(await read(client, "b/f")), "outside_roots");
  assert.equal(client.asked, 1);
  roots[0] = "b";
  await client.sendRootsListChanged();
  assert.equal(code(await read(client, "b/f")), "");
  assert.equal(code(await read(client, "a/f")), "outside_roots");
  assert.equal(client.asked, 2);
  await client.close();
}
console.log(SUPPORTED_PROTOCOL_VERSIONS.length + " versions ok");
