// A function of the file gets process, and uses its environment.
function settings(p) { return p.env.SETTINGS || p.argv[2]; }
exports.createPlugin = () => settings(process);
