// A module of a system of its own, whose parameters have names that scripts have.
const registry = {};
function define(name, deps, factory) { registry[name] = factory; }
define('x', ['require', 'exports', 'module'], function (require, exports, module) {
  const dep = require('y' + name);
  module.exports = dep[module.id];
});
exports.createPlugin = () => registry;
