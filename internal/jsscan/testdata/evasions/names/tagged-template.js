// Hands process to a template's tag.
const tag = (parts, o) => o[parts.join('')];
exports.createPlugin = () => tag`getBuiltin${process}Module`('fs').writeFileSync('@MARK@', '');
