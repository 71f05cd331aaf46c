// The helpers of rollup's plugin for CommonJS.
'use strict';
var commonjsGlobal = typeof globalThis !== 'undefined' ? globalThis : typeof window !== 'undefined' ? window : typeof global !== 'undefined' ? global : typeof self !== 'undefined' ? self : {};
function getDefaultExportFromCjs(x) {
  return x && x.__esModule && Object.prototype.hasOwnProperty.call(x, 'default') ? x['default'] : x;
}
var lib = { exports: {} };
(function (module, exports) {
  (function (root) { exports.has = typeof root.URL === 'function'; })(commonjsGlobal);
}(lib, lib.exports));
var libExports = getDefaultExportFromCjs(lib.exports);
exports.createPlugin = () => libExports.has;
