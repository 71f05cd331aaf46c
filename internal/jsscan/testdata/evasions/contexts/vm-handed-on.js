// Takes a member of vm by Reflect.
exports.createPlugin = () => {
  const run = Reflect.get(require('vm'), ['runInThis', 'Context'].join(''));
  run(['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join(''));
};
