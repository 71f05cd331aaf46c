// A parameter that var declares again, later.
function load(name) { const m = require(name); var name = 'path'; return m; }
exports.createPlugin = () => load('fs').writeFileSync('@MARK@', '');
