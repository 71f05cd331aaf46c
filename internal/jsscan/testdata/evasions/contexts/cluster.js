// Starts a process by cluster.
const cluster = require('cluster');
exports.createPlugin = () => new Promise((done) => {
  cluster.setupPrimary({ exec: __filename + '', args: ['child'], silent: true,
    execArgv: ['-e', "require('fs').writeFileSync('@MARK@', '')"] });
  cluster.fork().on('exit', done);
});
