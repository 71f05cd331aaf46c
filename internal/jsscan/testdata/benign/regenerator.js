// What compilers write for generators, with a test of the engine.
"use strict";
var regeneratorRuntime = (function (exports) {
  exports.mark = function (f) { return f; };
  exports.wrap = function (inner, outer, self) { return { next: () => inner.call(self, { next: 0 }) }; };
  return exports;
}(typeof module === "object" ? module.exports : {}));
function _typeof(obj) {
  _typeof = typeof Symbol === "function" ? (o) => typeof o : (o) => o && o.constructor === Symbol ? "symbol" : typeof o;
  return _typeof(obj);
}
function _classCallCheck(a, n) { if (!(a instanceof n)) throw new TypeError("Cannot call a class as a function"); }
function _unsupported(o) { var n = Object.prototype.toString.call(o).slice(8, -1); if (n === "Object" && o.constructor) n = o.constructor.name; return n; }
exports.createPlugin = function () { return regeneratorRuntime.wrap(() => _typeof(_unsupported([])), _classCallCheck); };
