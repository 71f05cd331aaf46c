// Colours by the terminal, as loggers choose them.
const env = process.env, tty = require('tty');
const streams = { out: process.stdout, err: process.stderr };
const isColor = !('NO_COLOR' in env) && (env.FORCE_COLOR !== undefined || tty.isatty(process.stdout.fd) && streams.out.isTTY);
if (process.platform === 'win32' && Number(process.versions.node.split('.')[0]) >= 8) streams.out.cursorTo?.(0);
exports.createPlugin = () => (text) => (isColor ? `\u001b[32m${text}\u001b[39m` : text) + streams.err.columns;
