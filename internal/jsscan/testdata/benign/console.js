// Writes to the console, and replaces a method of it.
const { Console } = require('console');
exports.createPlugin = () => {
  const log = console.log.bind(console);
  const quiet = new Console(process.stderr);
  console.debug = (...args) => log('[debug]', ...args);
  ['log', 'warn', 'error'].forEach((m) => quiet[m]('x'));
  return typeof console[Object.keys(console)[0]];
};
