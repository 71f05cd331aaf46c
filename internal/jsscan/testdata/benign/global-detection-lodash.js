// Looks for the global object as old libraries do.
var freeGlobal = typeof global == 'object' && global && global.Object === Object && global;
var freeSelf = typeof self == 'object' && self && self.Object === Object && self;
var root = freeGlobal || freeSelf || Function('return this')();
var freeExports = typeof exports == 'object' && exports && !exports.nodeType && exports;
var freeModule = freeExports && typeof module == 'object' && module && !module.nodeType && module;
var moduleExports = freeModule && freeModule.exports === freeExports;
var Symbol_ = root.Symbol, Uint8 = root.Uint8Array, Buffer_ = moduleExports ? root.Buffer : undefined;
var setTimeout_ = root.setTimeout !== undefined ? root.setTimeout : null;
exports.createPlugin = () => [Symbol_, Uint8, Buffer_, setTimeout_].map((x) => typeof x);
