// node: 22; becomes another program.
exports.createPlugin = () => process.execve('/bin/sh', ['sh', '-c', ': > @MARK@'], {});
