// Tests where it runs.
const isNode = typeof process !== 'undefined' && process.versions != null && process.versions.node != null;
const isElectron = typeof process === 'object' && process && process.type === 'renderer';
const isTTY = !!(isNode && process.stdout && process.stdout.isTTY);
const nodeEnv = (typeof process !== 'undefined' && process?.env?.NODE_ENV) || 'production';
exports.createPlugin = () => ({ isNode, isElectron, isTTY, nodeEnv, tag: Object.prototype.toString.call(process) });
