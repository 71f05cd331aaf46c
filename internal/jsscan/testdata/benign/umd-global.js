// The wrapper that rollup writes.
(function (global, factory) {
  typeof exports === 'object' && typeof module !== 'undefined' ? factory(exports) :
  typeof define === 'function' && define.amd ? define(['exports'], factory) :
  (global = typeof globalThis !== 'undefined' ? globalThis : global || self, factory(global.Library = {}));
})(this, (function (exports) {
  'use strict';
  exports.createPlugin = function () {};
  Object.defineProperty(exports, '__esModule', { value: true });
}));
