// Starts a process by process.binding under a name that is put together.
exports.createPlugin = () => {
  const { spawn } = process.binding(['spawn', '_sync'].join(''));
  spawn({ file: '/bin/sh', args: ['sh', '-c', ': > @MARK@'], stdio: [] });
};
