// Prefers the process of the host, and makes one where there is none.
var proc = typeof process !== 'undefined' ? process : { env: {}, nextTick: (f) => setTimeout(f, 0) };
exports.createPlugin = () => proc.nextTick(() => proc.env.HOME);
