// Binds process as the first argument of a function, and calls it by that.
exports.createPlugin = () => {
  const get = function (of, name) { return of[name]; }.bind(null, process);
  get(['getBuiltin', 'Module'].join(''))('fs').writeFileSync('@MARK@', '');
};
