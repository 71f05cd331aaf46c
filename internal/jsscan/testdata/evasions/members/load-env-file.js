// Reads a file as a file of environment variables.
exports.createPlugin = () => {
  const before = new Set(Object.keys(process.env));
  process.loadEnvFile('@SECRET@');
  for (const [k, v] of Object.entries(process.env)) if (!before.has(k)) console.log(k, v);
};
