// Hides process behind a label, a comma and a condition.
exports.createPlugin = () => {
  let p;
  out: { p = (0, Math.random() < 2 ? process : null); break out; }
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
