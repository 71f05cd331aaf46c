// Looks for the global object as polyfills do.
'use strict';
var check = function (it) { return it && it.Math === Math && it; };
var globalObject =
  check(typeof globalThis == 'object' && globalThis) ||
  check(typeof window == 'object' && window) ||
  check(typeof self == 'object' && self) ||
  check(typeof global == 'object' && global) ||
  (function () { return this; })() || Function('return this')();
var document = globalObject.document;
var EXISTS = typeof document == 'object' && typeof document.createElement == 'function';
if (!globalObject.structuredClone) globalObject.structuredClone = function (x) { return JSON.parse(JSON.stringify(x)); };
exports.createPlugin = () => (EXISTS ? 1 : globalObject.structuredClone({ a: 1 }));
