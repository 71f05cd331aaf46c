// Learns process by the owner of a domain's member.
exports.createPlugin = () => {
  const d = require('domain').create();
  const k = ['getBuiltin', 'Module'].join('');
  d.add(process);
  d.members[0][k]('fs').writeFileSync('@MARK@', '');
};
