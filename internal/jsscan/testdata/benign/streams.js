// Uses the streams of process, and bundled helpers that are set once.
var kTag = Symbol('tag'), later = queueMicrotask.bind(globalThis);
exports.createPlugin = (server) => {
  const { stdout, stderr } = process;
  if (stdout.isTTY && stdout._handle && stdout._handle.setBlocking) stdout._handle.setBlocking(true);
  later(() => stderr.write(stdout.constructor.name));
  if (globalThis[kTag] === undefined) globalThis[kTag] = new Map();
  const once = function () { this.done = true; }.bind(server);
  process.once('exit', once);
  return globalThis[kTag].get(server);
};
