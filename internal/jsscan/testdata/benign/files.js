// permissions: fsRead fsWrite
// Reads and writes files.
const fs = require('fs');
const { readFile } = require('node:fs/promises');
exports.createPlugin = async () => {
  const method = fs.promises ? 'readFileSync' : 'readFile';
  fs[method](__filename);
  return Object.keys(fs).length + (await readFile(__filename, 'utf8')).length;
};
