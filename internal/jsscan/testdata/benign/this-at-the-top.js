// Uses this where it is the exports, and in functions where it is an object.
this.createPlugin = function () { return this.value; };
(function () { this.other = 1; }).call(this);
var bag = { value: 2, get() { return this.value; }, list: [1].map(function (x) { return x + this.n; }, { n: 1 }) };
exports.bag = bag;
