// Defines modules with names that scripts have, as browserify does.
(function e(t, n, r) {
  function s(o) {
    if (!n[o]) {
      const l = (n[o] = { exports: {} });
      t[o][0].call(l.exports, function (name) { return s(t[o][1][name] || name); }, l, l.exports, e, t, n, r);
    }
    return n[o].exports;
  }
  for (let o = 0; o < r.length; o++) s(r[o]);
  return s;
})({ 1: [function (require, module, exports) { const a = require('./a'); module.exports = a.b; }, { './a': 2 }],
  2: [function (require, module, exports) { exports.b = function (process) { return process.k[exports]; }; }, {}] }, {}, [1]);
exports.createPlugin = () => {};
