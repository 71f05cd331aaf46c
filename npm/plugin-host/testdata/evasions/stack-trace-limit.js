// Sees to it that there are no frames.
Object.defineProperty(Error, 'stackTraceLimit', { value: 0, writable: false, configurable: false });
Object.defineProperty(Error, 'prepareStackTrace', { value: () => [], writable: false, configurable: false });
const write = () => { try { process.getBuiltinModule('fs').writeFileSync('@MARK@', ''); } catch {} };
process.on('exit', write);
exports.createPlugin = write;
