// Gives names of its own to parameters, properties and methods that look like Node's.
class Loader {
  require(name) { return this.modules[name]; }
  import(name) { return this.require(name); }
  eval(text) { return text.length; }
  get process() { return { binding: (n) => n, env: {} }; }
}
exports.createPlugin = (process, module) => {
  const l = new Loader();
  const global = { process: process };
  return [l.require('x' + 1), l.import('a'), l.eval('1+1'), l.process.binding('x'), global[process], typeof module];
};
