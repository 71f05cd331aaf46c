// Calls members of its own objects under names that are put together.
const actions = { onStart() { return 1; }, onStop() { return 2; } };
const table = [(x) => x + 1, (x) => x * 2];
exports.createPlugin = (server) => {
  const verb = 'St' + 'art';
  let value = actions['on' + verb]() + table.reduce((v, f) => f(v), 1);
  for (const k of ['tool', 'resource']) if (typeof server[k] === 'function') server[k]('x', () => value);
  return [1, 2][value % 2] + 'abc'['length'] + Math[['m', 'ax'].join('')](1, 2);
};
