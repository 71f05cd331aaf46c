// Makes a function of a text with Function as a template's tag.
exports.createPlugin = () => {
  Function`x${['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join('')}```;
};
