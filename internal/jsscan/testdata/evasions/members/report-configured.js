// Sets where diagnostic reports are written, and throws.
exports.createPlugin = () => {
  const { report } = process;
  const at = '@MARK@'.lastIndexOf('/');
  report.directory = '@MARK@'.slice(0, at);
  report.filename = '@MARK@'.slice(at + 1);
  report.reportOnUncaughtException = true;
  setTimeout(() => { throw new Error('x'); }, 1);
};
