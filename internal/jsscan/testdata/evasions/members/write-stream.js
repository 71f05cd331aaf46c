// Writes by a stream of fs.
exports.createPlugin = () => new Promise((done) => {
  const { WriteStream } = require('fs');
  new WriteStream('@MARK@').end('', done);
});
