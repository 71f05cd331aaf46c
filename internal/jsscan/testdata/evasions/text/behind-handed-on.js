// Evaluates a text by what may be Function, in a file that gives Function away as well.
exports.createPlugin = (server) => {
  const make = server.none ? String : Function;
  if (server.none) server.keep(Function);
  make('m', ['pro', 'cess.getBuiltin', "Module('f", "s').writeFileSync(m, '')"].join(''))('@MARK@');
};
