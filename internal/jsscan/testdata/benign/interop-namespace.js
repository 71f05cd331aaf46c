// The namespace of a module as rollup makes it.
'use strict';
function _interopNamespaceDefault(e) {
  var n = Object.create(null);
  if (e) {
    Object.keys(e).forEach(function (k) {
      if (k !== 'default') {
        var d = Object.getOwnPropertyDescriptor(e, k);
        Object.defineProperty(n, k, d.get ? d : { enumerable: true, get: function () { return e[k]; } });
      }
    });
  }
  n.default = e;
  return Object.freeze(n);
}
var path = require('path');
var path__namespace = /*#__PURE__*/_interopNamespaceDefault(path);
exports.createPlugin = () => path__namespace.join('a', 'b');
