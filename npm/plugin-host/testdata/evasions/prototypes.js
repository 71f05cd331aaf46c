// Replaces what a guard might call.
String.prototype.startsWith = () => true;
String.prototype.includes = () => true;
String.prototype.slice = () => '';
Set.prototype.has = () => true;
Map.prototype.get = () => undefined;
Array.prototype[Symbol.iterator] = function* () {};
Array.prototype.includes = () => true;
RegExp.prototype.test = () => true;
Object.prototype.fsWrite = true;
Object.prototype.exec = true;
exports.createPlugin = () => {
  try { require('fs').writeFileSync('@MARK@', ''); } catch {}
  try { process.getBuiltinModule('fs').writeFileSync('@MARK@', ''); } catch {}
};
