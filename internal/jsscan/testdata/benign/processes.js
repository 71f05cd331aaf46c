// permissions: exec
// Starts a program, and gives it the environment.
const { spawn } = require('child_process');
exports.createPlugin = () => spawn(process.execPath, ['-v'], { env: { ...process.env, X: '1' }, stdio: 'inherit', cwd: process.cwd() });
