// Counts what reading and editing costs a model in tokens (o200k), for ours and its peers; see run.sh.
//
//	node tokens.mjs DIR OURS REFERENCE [PEER]
//
// DIR is empty or missing, and is written to. Exits with 1 if a target of ours is missed.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Server } from "./server.mjs";
import { writeCrowd, writeSamples } from "./samples.mjs";

const require = createRequire(join(process.cwd(), "package.json"));
const { encode } = require("gpt-tokenizer/encoding/o200k_base");

const most = 25_000; // tokens of one answer that usual clients pass on
const crowd = 20_000; // entries of the large directory
const read = "read_text_file";

// tokens counts those of a text, also of one that contains marks such as <|endoftext|>.
function tokens(text) {
  const piece = 100_000; // of characters: the tokenizer is slow on longer ones
  let count = 0;
  for (let at = 0; at < text.length; at += piece) {
    count += encode(text.slice(at, at + piece), { disallowedSpecial: new Set() }).length;
  }
  return count;
}

const table = { rows: [], missed: [] };

// add enters a row; figures are ours, the peer's and the reference's, undefined where there is none.
function add(what, base, figures, target) {
  const show = (n) => (n === undefined ? "–" : Math.round(n).toLocaleString("en-US"));
  const [ours] = figures;
  const limit = target?.times ? target.times * base : target?.most;
  const met = limit === undefined ? "" : ours <= limit;
  if (met === false) table.missed.push(what);
  const wanted = target?.times ? `≤ ${target.times} × cat -n` : target ? `≤ ${show(target.most)}` : "–";
  const ratio = base ? `${(ours / base).toFixed(3)}` : "–";
  table.rows.push([what, show(base), ...figures.map(show), ratio, wanted, met === "" ? "" : met ? "met" : "missed"]);
}

function print(peer) {
  const other = peer ? "hashfile-mcp" : "hashfile-mcp (not installed)";
  const head = ["o200k tokens", "cat -n", "ours", other, "reference", "ours / cat -n", "target", ""];
  for (const row of [head, head.map(() => "---"), ...table.rows]) console.log(`| ${row.join(" | ")} |`);
}

// onEach asks every server that there is, and gives undefined for the others.
async function onEach(servers, ask) {
  const out = [];
  for (const s of servers) out.push(s && (await ask(s)));
  return out;
}

async function readText(s, path) {
  const { text, refused } = await s.call(read, { path });
  return refused ? undefined : text;
}

const sources = [
  "net/http/server.go", "sort/sort.go", "encoding/json/decode.go", "fmt/print.go", "os/file.go", "go/parser/parser.go",
  "bufio/scan.go",
];

// addLines counts 300 lines of each of some files of Go's source, from their beginning or their end.
async function addLines(servers, dir, goroot, end) {
  let base = 0;
  const sums = servers.map((s) => s && 0);
  for (const source of sources) {
    const all = readFileSync(join(goroot, "src", source), "utf8").trimEnd().split("\n");
    const lines = end ? all.slice(-300) : all.slice(0, 300);
    const path = join(dir, "lines.go");
    writeFileSync(path, lines.join("\n") + "\n");
    base += tokens(lines.map((line, i) => `${String(i + 1).padStart(6)}\t${line}\n`).join(""));
    const texts = await onEach(servers, (s) => readText(s, path));
    texts.forEach((text, i) => text !== undefined && (sums[i] += tokens(text)));
  }
  const what = `300 ${end ? "last" : "first"} lines read, of each of ${sources.length} files`;
  add(what, base, sums, end ? undefined : { times: 1.05 });
}

async function addLists(servers) {
  const whole = await onEach(servers, async (s) => tokens(JSON.stringify((await s.ask("tools/list", {})).tools)));
  add("tools/list", undefined, whole, { most: 900 });
  const told = await onEach(servers, async (s) => tokens(JSON.stringify(await s.tools())));
  add("tools/list, names, descriptions and schemas only", undefined, told);
}

// addEdit counts the arguments of an edit of one line, with the hash that each server printed.
async function addEdit(servers, dir) {
  const path = join(dir, "edit.go");
  writeFileSync(path, "package main\n\nfunc run() error {\n\treturn err\n}\n");
  const anchor = { anchor: "4:f1", content: "\treturn nil, err" };
  const figures = await onEach(servers, async (s) => {
    const hash = (await readText(s, path)).match(/file_hash[=:]\s*([\w:]+)/)?.[1];
    const call = { path: "src/edit.go" };
    if (!hash) return { ...call, edits: [{ oldText: "\treturn err\n}", newText: "\treturn nil, err\n}" }] };
    return { ...call, file_hash: hash, operations: [{ [s.peer ? "op_type" : "op"]: "replace", ...anchor }] };
  });
  add("one edit's arguments", undefined, figures.map((args) => args && tokens(JSON.stringify(args))), { most: 50 });
}

async function addKinds(servers, dir, goroot) {
  for (const name of writeSamples(dir, goroot)) {
    const figures = await onEach(servers, async (s) => {
      const { text } = await s.call(read, { path: join(dir, name) });
      return tokens(text);
    });
    add(`${name} read without limits of the caller's`, undefined, figures, { most });
  }
  const paths = Array.from({ length: 20 }, () => join(dir, "server.go"));
  const { text } = await servers[0].call("read_multiple_files", { paths });
  add("server.go 20 times by read_multiple_files", undefined, [tokens(text), undefined, undefined], { most });
}

async function addCrowds(servers, dir) {
  for (const [tool, nested] of [["list_directory", false], ["directory_tree", true]]) {
    const path = join(dir, tool);
    writeCrowd(path, crowd, nested);
    const figures = await onEach(servers, async (s) => tokens((await (s === servers[0]
      ? s.call("list_directory", { path, recursive: nested }) : s.call(tool, { path }))).text));
    add(`${tool} of ${crowd.toLocaleString("en-US")} files`, undefined, figures, { most });
  }
}

async function main(dir, ours, reference, peer) {
  mkdirSync(join(dir, "root"), { recursive: true });
  const root = realpathSync(join(dir, "root"));
  const goroot = execFileSync("go", ["env", "GOROOT"], { encoding: "utf8" }).trim();
  const servers = [await Server.start([ours, "--root", root], { home: dir }), undefined];
  servers.push(await Server.start(["node", reference, root], { home: dir }));
  if (peer) {
    servers[1] = await Server.start([peer], { home: dir, roots: [root] });
    servers[1].peer = true;
  }
  try {
    await addLines(servers, root, goroot, false);
    await addLines(servers, root, goroot, true);
    await addLists(servers);
    await addEdit(servers, root);
    await addKinds(servers, root, goroot);
    await addCrowds(servers, root);
  } finally {
    for (const s of servers) s?.stop();
  }
  print(peer);
  if (table.missed.length > 0) {
    console.error(`tokens: missed: ${table.missed.join("; ")}`);
    process.exitCode = 1;
  }
}

const [dir, ours, reference, peer] = process.argv.slice(2);
if (!reference) {
  console.error("usage: node tokens.mjs DIR OURS REFERENCE [PEER]");
  process.exit(2);
}
await main(dir, ours, reference, peer);
