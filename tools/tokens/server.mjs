// An editing server on standard input and output, and its answers as a model gets them.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const deadline = 60_000; // milliseconds for one answer

export class Server {
  // start starts a server and greets it. With roots it is told them when it asks, as one without --root has to be.
  static async start(argv, { home, roots = [] }) {
    const s = new Server();
    s.waiting = new Map();
    s.id = 0;
    s.roots = roots;
    const env = { ...process.env, HALLMARK_HOME: home };
    s.child = spawn(argv[0], argv.slice(1), { stdio: ["pipe", "pipe", "ignore"], env });
    s.child.on("error", (err) => s.fail(err));
    s.child.on("exit", () => s.fail(new Error(`${argv[0]} has ended`)));
    createInterface({ input: s.child.stdout }).on("line", (line) => s.take(JSON.parse(line)));
    const capabilities = roots.length > 0 ? { roots: {} } : {};
    const clientInfo = { name: "tokens", version: "1" };
    await s.ask("initialize", { protocolVersion: "2025-06-18", capabilities, clientInfo });
    s.send({ method: "notifications/initialized" });
    return s;
  }

  send(message) {
    this.child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  take(message) {
    if (message.method === "roots/list") {
      this.send({ id: message.id, result: { roots: this.roots.map((path) => ({ uri: pathToFileURL(path).href })) } });
      return;
    }
    this.waiting.get(message.id)?.resolve(message);
    this.waiting.delete(message.id);
  }

  fail(err) {
    for (const w of this.waiting.values()) w.reject(err);
    this.waiting.clear();
  }

  ask(method, params) {
    const id = ++this.id;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${method}: no answer in ${deadline} ms`)), deadline);
      this.waiting.set(id, {
        resolve: (m) => (clearTimeout(late), m.error ? reject(new Error(m.error.message)) : resolve(m.result)),
        reject: (err) => (clearTimeout(late), reject(err)),
      });
      this.send({ id, method, params });
    });
  }

  // tools returns the tools as a model is told them: annotations and titles are for the client.
  async tools() {
    const { tools } = await this.ask("tools/list", {});
    return tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  }

  // text calls a tool and returns the text of its answer, and whether it was an error.
  async call(name, args) {
    const result = await this.ask("tools/call", { name, arguments: args });
    const text = result.content.map((part) => part.text ?? "").join("\n");
    return { text, refused: result.isError === true || text.startsWith("Error") };
  }

  stop() {
    this.child.removeAllListeners("exit");
    this.child.stdin.end();
    this.child.kill();
  }
}
