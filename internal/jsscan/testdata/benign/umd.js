// The wrapper of a library for every module system.
(function (root, factory) {
  if (typeof define === 'function' && define.amd) {
    define(['exports'], factory);
  } else if (typeof exports === 'object' && typeof exports.nodeName !== 'string') {
    factory(exports);
  } else {
    factory((root.library = {}));
  }
}(typeof self !== 'undefined' ? self : this, function (exports) {
  exports.createPlugin = function () { return 1; };
}));
