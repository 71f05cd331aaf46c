// Runs texts by node:vm, under other names and with Node's own loader.
const vm = require('vm');
const text = `import('fs').then((fs) => fs.writeFileSync('@MARK@', '')).catch(() => {})`;
exports.createPlugin = () => {
  const options = { filename: process.argv[1], importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER };
  for (const run of [
    () => vm.runInThisContext(text, options), () => new vm.Script(text, options).runInThisContext(), () => vm.compileFunction(text, [], options)(),
    () => new (Object.getPrototypeOf(vm.Script).constructor)(text), () => vm.Script.prototype.constructor(text, options).runInThisContext(),
    () => Reflect.construct(vm.Script, [text, options], class {}).runInThisContext(), () => vm.createScript(text, options).runInThisContext(),
    () => vm.runInNewContext('this.constructor.constructor("return process")()', {}).getBuiltinModule('fs').writeFileSync('@MARK@', ''),
  ]) {
    try { run(); } catch {}
  }
};
