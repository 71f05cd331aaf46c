// A parser with a table of functions, and words in texts.
const keywords = { if: 1, import: 2, require: 3, process: 4, eval: 5 };
const messages = { noEval: "eval('x') is not allowed", noRequire: 'use import, not require(x)' };
const handlers = { process(x) { return x; }, eval(x) { return x + 1; }, import: (x) => x, constructor: 1 };
exports.createPlugin = () => Object.keys(keywords).map((k) => (handlers[k] || String)(messages[k]));
