// Puts names together by templates with variables.
const a = 'get', b = 'Module';
exports.createPlugin = () => process[`${a}Builtin${b}`]('fs').writeFileSync('@MARK@', '');
