// Calls require as the tag of a template.
exports.createPlugin = () => {
  const o = { toString: () => 'fs' };
  try { require`fs`; } catch {}
  [o].map(String).map(require)[0].writeFileSync('@MARK@', '');
};
