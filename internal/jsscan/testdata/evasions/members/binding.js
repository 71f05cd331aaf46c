// Reads a file by process.binding.
exports.createPlugin = () => console.log(process.binding('fs').readFileUtf8('@SECRET@', 0));
