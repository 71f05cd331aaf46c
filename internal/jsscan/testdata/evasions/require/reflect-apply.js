// Calls require by Reflect.apply.
exports.createPlugin = () => Reflect.apply(require, null, [['f', 's'].join('')]).writeFileSync('@MARK@', '');
