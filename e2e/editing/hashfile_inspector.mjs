// The official Inspector's command line against the editing server:
//
//	node hashfile_inspector.mjs DIRECTORY SERVER [ARGUMENT...]
//
// from a directory where the Inspector is installed. DIRECTORY is what the server's --root allows. Each
// call of a tool is a run of the Inspector, which speaks one protocol version. Prints "N tools ok".
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";

const [directory, ...server] = process.argv.slice(2);
const program = path.join(process.cwd(), "node_modules/@modelcontextprotocol/inspector-cli/build/index.js");

async function inspect(...args) {
  const { stdout } = await promisify(execFile)(process.execPath, [program, server[0], ...args, "--", ...server.slice(1)]);
  return JSON.parse(stdout);
}

const { tools } = await inspect("--method", "tools/list");
const called = new Set();

// Calls a tool and returns the text of its answer. The Inspector reads arguments by the schema of the tool.
async function call(tool, args, part = "") {
  called.add(tool);
  const pairs = Object.entries(args).flatMap(([name, value]) => ["--tool-arg", name + "=" + value]);
  const result = await inspect("--method", "tools/call", "--tool-name", tool, ...pairs);
  const [{ text }] = result.content;
  assert(!result.isError && text.includes(part), `${tool}: ${JSON.stringify(result)}`);
  return text;
}

const at = (...names) => path.join(directory, "every", ...names);
const hash = (text) => text.match(/^\[file_hash=(\S+) total_lines=\d+/)[1];
const anchor = (text, line) => text.split("\n").find((l) => l.endsWith("|" + line)).split("|")[0];

fs.mkdirSync(at("tree"), { recursive: true });
for (const name of ["edited", "moved", "tree/f"]) fs.writeFileSync(at(name), "one\ntwo\n");

async function edit() {
  const got = await call("read_text_file", { path: at("edited"), start_line: "1" }, "|two");
  const operations = JSON.stringify([{ op: "delete", anchor: anchor(got, "one") }]);
  await call("edit_text_file", { path: at("edited"), file_hash: hash(got), operations });
  assert.equal(fs.readFileSync(at("edited"), "utf8"), "two\n");
}

await Promise.all([
  edit(),
  call("create_directory", { path: at("made", "deep") }).then(() => assert(fs.existsSync(at("made", "deep")))),
  call("write_text_file", { path: at("new"), content: "new\n" }).then(() => assert(fs.existsSync(at("new")))),
  call("move_file", { source: at("moved"), destination: at("there") }).then(() => assert(fs.existsSync(at("there")))),
  call("read_multiple_files", { paths: JSON.stringify([at("tree/f"), at("none")]) }, "|two"),
  call("search_files", { path: at("tree"), pattern: "^T.*O$", ignore_case: "true" }, "|two"),
  call("list_directory", { path: at("tree") }, "[FILE] f"),
  call("list_directory", { path: at(), recursive: true }, "tree/f"),
  call("list_directory", { path: at("tree/f") }),
  call("list_directory", {}, directory),
]);
assert.deepEqual([...called].sort(), tools.map((tool) => tool.name).sort());
console.log(tools.length + " tools ok");
