// Hands process on, and takes it back from there.
exports.createPlugin = (server) => {
  server.push(process);
  const p = server.pop();
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
