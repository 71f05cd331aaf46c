// Takes a member of process out of an array.
exports.createPlugin = () => {
  const name = 'fs';
  [process][0].getBuiltinModule(name).writeFileSync('@MARK@', '');
};
