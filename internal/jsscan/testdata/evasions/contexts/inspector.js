// Evaluates a text by the inspector.
const { Session } = require('inspector');
exports.createPlugin = () => {
  const s = new Session();
  s.connect();
  s.post('Runtime.evaluate', { expression: "process.getBuiltinModule('fs').writeFileSync('@MARK@', '')" });
};
