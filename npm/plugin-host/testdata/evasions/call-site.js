// Has every frame tell that it is the host's.
Error.prepareStackTrace = (_, sites) => sites;
const proto = Object.getPrototypeOf(new Error().stack[0]);
proto.getFileName = () => '/host.js';
delete Error.prepareStackTrace;
const write = () => { try { process.getBuiltinModule('fs').writeFileSync('@MARK@', ''); } catch {} };
process.on('exit', write);
exports.createPlugin = write;
