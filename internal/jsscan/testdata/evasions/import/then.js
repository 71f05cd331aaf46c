// Gets the namespace of the module "module" by a promise, and hands it on.
const use = (m) => m[['create', 'Require'].join('')](__filename)('fs').writeFileSync('@MARK@', '');
exports.createPlugin = () => import('node:module').then(use);
