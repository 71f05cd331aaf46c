// Exports process, and takes it out of the exports.
module.exports = { held: process, createPlugin() {
  const k = ['getBuiltin', 'Module'].join('');
  module.exports['he' + 'ld'][k]('fs').writeFileSync('@MARK@', '');
} };
