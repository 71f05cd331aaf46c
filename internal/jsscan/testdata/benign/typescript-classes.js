// Classes as the TypeScript compiler writes them for old engines.
"use strict";
var __extends = (this && this.__extends) || (function () {
    var extendStatics = function (d, b) {
        extendStatics = Object.setPrototypeOf ||
            ({ __proto__: [] } instanceof Array && function (d, b) { d.__proto__ = b; }) ||
            function (d, b) { for (var p in b) if (Object.prototype.hasOwnProperty.call(b, p)) d[p] = b[p]; };
        return extendStatics(d, b);
    };
    return function (d, b) {
        extendStatics(d, b);
        function __() { this.constructor = d; }
        d.prototype = b === null ? Object.create(b) : (__.prototype = b.prototype, new __());
    };
})();
var Base = (function () { function Base(n) { this.n = n; } Base.prototype.get = function () { return this.n; }; return Base; })();
var Derived = (function (_super) {
    __extends(Derived, _super);
    function Derived() { return _super !== null && _super.apply(this, arguments) || this; }
    return Derived;
})(Base);
exports.createPlugin = function () { return new Derived(1).get(); };
