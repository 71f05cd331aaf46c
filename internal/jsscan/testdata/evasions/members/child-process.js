// Starts a process.
const { spawnSync } = require('child_process');
exports.createPlugin = () => spawnSync('/bin/sh', ['-c', ': > @MARK@']);
