// Timers with functions.
const { setTimeout: sleep } = require('timers/promises');
exports.createPlugin = async () => {
  const t = setInterval(() => {}, 1000);
  t.unref();
  await sleep(1);
  await new Promise((done) => setImmediate(done));
  queueMicrotask(() => clearInterval(t));
  return new Promise((resolve, reject) => setTimeout(resolve, 1, 'x'));
};
