// Requires by the main module.
exports.createPlugin = () => {
  const { main } = require;
  (main || module)[['req', 'uire'].join('')]('fs').writeFileSync('@MARK@', '');
};
