// Starts the program of this platform, which a package of its own carries, in place of a script.
"use strict";
const { spawn } = require("node:child_process");
const os = require("node:os");
const path = require("node:path");

module.exports = (name) => {
  const carrier = `@hallmark-mcp/hallmark-${process.platform}-${process.arch}`;
  let dir;
  try {
    dir = path.dirname(require.resolve(`${carrier}/package.json`));
  } catch {
    console.error(`${name}: ${carrier}, which carries the program, is not installed\n` +
      "  hint: install without --omit=optional and on the platform on which it will run;\n" +
      "        https://github.com/hallmark-mcp/hallmark/releases has archives for all of them");
    process.exit(1);
  }
  const file = path.join(dir, "bin", process.platform === "win32" ? `${name}.exe` : name);
  const child = spawn(file, process.argv.slice(2), { stdio: "inherit", windowsHide: true });
  const onTerminal = process.stdin.isTTY || process.stderr.isTTY;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
    // A terminal sends Ctrl-C to the program itself as well.
    process.on(signal, () => signal === "SIGINT" && onTerminal || child.kill(signal));
  }
  child.on("error", (err) => {
    console.error(`${name}: ${err.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
      process.exit(128 + os.constants.signals[signal]); // Node ignores SIGPIPE
    } else {
      process.exit(code);
    }
  });
};
