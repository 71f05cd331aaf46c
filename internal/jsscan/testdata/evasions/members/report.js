// Writes a diagnostic report.
exports.createPlugin = () => {
  process.report.compact = true;
  process.report.writeReport('@MARK@');
};
