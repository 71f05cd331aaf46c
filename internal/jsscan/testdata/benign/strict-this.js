// Calls functions bare in strict code, where this is undefined.
"use strict";
function helper() { return this === undefined; }
exports.createPlugin = () => [helper(), [1].map(function () { return this; })[0]];
