// Evaluates a text that is put together.
exports.createPlugin = () => eval(['req', "uire('fs').writeFileSync('@MARK@', '')"].join(''));
