// Calls what may be require under a name that is not known.
exports.createPlugin = (server) => {
  const all = { a: (x) => x, b: require };
  const f = server.none ? all.a : all.b;
  f(['f', 's'].join('')).writeFileSync('@MARK@', '');
  f(server.name);
};
