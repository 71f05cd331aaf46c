// Requires by the context of a repl.
exports.createPlugin = () => {
  const { PassThrough } = require('stream');
  const r = require('repl').start({ input: new PassThrough(), output: new PassThrough() });
  r.context.require('fs').writeFileSync('@MARK@', '');
  r.close();
};
