// Requires by the module that loaded this one.
exports.createPlugin = () => (module.parent || module)['req' + 'uire']('fs').writeFileSync('@MARK@', '');
