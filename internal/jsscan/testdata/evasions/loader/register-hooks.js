// node: 24; gives a module that is not there a source by hooks in this thread.
const { registerHooks } = require('module');
exports.createPlugin = () => {
  registerHooks({
    resolve: (s, c, next) => s === 'none' ? { url: 'file:///none.mjs', shortCircuit: true, format: 'module' } : next(s, c),
    load: (u, c, next) => u === 'file:///none.mjs' ? { format: 'module', shortCircuit: true,
      source: "import { writeFileSync as w } from 'fs'; w('@MARK@', '')" } : next(u, c),
  });
  return import('none');
};
