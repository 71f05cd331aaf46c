// Starts a process by the test runner, which reads the file of the secret as a test.
exports.createPlugin = async () => {
  for await (const e of require('node:test').run({ files: ['@SECRET@'] })) {
    const { message, details } = e.data;
    console.log(message, details && details.error, details && String(details.error && details.error.cause));
  }
};
