// Generators, async iterators, and destructuring with defaults.
async function* numbers({ from = 0, to: [end = 3] = [] } = {}) { for (let i = from; i < end; i++) yield i; }
const collect = async (it, [first, ...rest] = []) => { const out = []; for await (const x of it) out.push(x); return out; };
export const createPlugin = async () => {
  label: for (const [k, v] of new Map([['a', 1]])) { if (v) continue label; }
  const [a, , b = a] = await collect(numbers());
  return { a, b, ...(await Promise.all([numbers().next()])) };
};
