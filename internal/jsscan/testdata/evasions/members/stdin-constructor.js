// Opens a file by the class of stdin.
exports.createPlugin = () => new process.stdin.constructor('@SECRET@').pipe(process.stdout);
