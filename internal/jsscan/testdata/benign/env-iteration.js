// Walks over the environment, which is data.
exports.createPlugin = () => {
  const all = Object.assign({}, process.env);
  for (const [k, v] of Object.entries(process.env)) if (k.startsWith('APP_')) all[k.slice(4)] = v;
  for (const k in process.env) delete all[k];
  const name = 'APP_' + 'X';
  return JSON.stringify({ ...process.env, y: process.env[name] }, Object.keys(all));
};
