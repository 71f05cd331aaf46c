// A method of one object is found on another, which inherits it from a third and has process.
class Base { take() { return this.kept; } }
const made = Object.create({ take: new Base().take });
made['ke' + 'pt'] = process;
exports.createPlugin = (server) => [{}, made][server?.none ? 0 : 1].take()[['getBuiltin', 'Module'].join('')]('fs').writeFileSync('@MARK@', '');
