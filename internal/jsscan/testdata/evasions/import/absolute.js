// Requires a file of the machine as a script, which shows its first line in an error that nobody catches.
exports.createPlugin = () => setTimeout(() => require('@SECRET@'), 1);
