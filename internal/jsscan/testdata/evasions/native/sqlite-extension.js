// permissions: fsRead
// node: 22
const { DatabaseSync } = require('node:sqlite');
exports.createPlugin = () => {
  const db = new DatabaseSync(':memory:', { allowExtension: true });
  db.enableLoadExtension(true);
  db.loadExtension('./evil.so');
};
