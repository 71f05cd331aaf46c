// What the tests of every day try of what is tried whole by itself: PLUGIN_HOST_SAMPLE cases, chosen by the seed
// HALLMARK_SEED. Without the former it is all of them.
const { PLUGIN_HOST_SAMPLE: size, HALLMARK_SEED: seed } = process.env;

/** sampled says whether some cases are left out. */
export const sampled = Boolean(size);

/** sample gives some of all, in their order. */
export function sample(all) {
  if (!sampled || all.length <= Number(size)) return all;
  let state = Number(seed || 1) >>> 0;
  const random = () => { // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
  const at = all.map((_, i) => [random(), i]).sort((a, b) => a[0] - b[0]).slice(0, Number(size)).map(([, i]) => i);
  return at.sort((a, b) => a - b).map((i) => all[i]);
}
