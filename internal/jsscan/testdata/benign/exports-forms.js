// Exports in the forms that scripts have.
exports = module.exports = createPlugin;
module.exports.createPlugin = createPlugin;
module.exports.default = createPlugin;
Object.assign(module.exports, { version: '1', id: module.id, file: module.filename });
Object.defineProperty(exports, '__esModule', { value: true });
function createPlugin() { return module.exports.version; }
if (module.children && !module.parent) createPlugin.main = true;
