// Two classes whose methods have the same names: only one of them listens to events of process.
const { inspect } = require('util');
class Catcher {
  start() {
    this.listener = this.caught.bind(this);
    process.on('uncaughtException', this.listener);
  }
  caught(error) { this.last = error; }
}
class Printer {
  start() { this.listener = function () { return inspect(this); }; }
  print() { return this.listener(); }
}
const parts = [new Catcher(), new Printer()];
exports.createPlugin = (server) => {
  for (const part of parts) part.start();
  return parts[server.verbose ? 1 : 0];
};
