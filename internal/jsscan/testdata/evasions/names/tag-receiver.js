// A method of an object that is the tag of a template, with the object as its receiver.
const o = { load: require };
o.tag = function (parts) { return this.load(parts.join('')); };
exports.createPlugin = () => o.tag`f${''}s`.writeFileSync('@MARK@', '');
