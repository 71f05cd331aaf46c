// A name of a text that eval sets again.
var name = 'path';
exports.createPlugin = () => {
  eval('na' + "me = 'f' + 's'");
  require(name).writeFileSync('@MARK@', '');
};
