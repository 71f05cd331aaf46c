// Makes process the receiver of a function.
function run(k) { this[k]('fs').writeFileSync('@MARK@', ''); }
exports.createPlugin = () => run.call(process, ['getBuiltin', 'Module'].join(''));
