// Writes a file by the class of stdout, where that is a file.
exports.createPlugin = () => {
  const { stdout } = process;
  const Stream = stdout.constructor;
  new Stream('@MARK@').end('');
};
