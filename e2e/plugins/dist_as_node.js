// Computes dist hashes as Node programs do: od with localeCompare. Reads one JSON tree a line, {path: text}; writes
// {profile: hash}.
const { createHash } = require('node:crypto');
const { createInterface } = require('node:readline');

const dotted = (path) => path.split('/').some((s) => s.startsWith('.'));
const icu = (a, b) => a.localeCompare(b, 'en-US');
const bytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const profiles = {
  guide: { order: bytes, dots: false },
  od: { order: icu, dots: true },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const tree = JSON.parse(line);
  const out = {};
  for (const [name, { order, dots }] of Object.entries(profiles)) {
    const paths = Object.keys(tree).filter((p) => dots || !dotted(p)).sort(order);
    const h = createHash('sha256');
    for (const p of paths) {
      h.update(p + '\n');
      h.update(tree[p]);
    }
    out[name] = paths.length ? 'sha256:' + h.digest('hex') : '';
  }
  console.log(JSON.stringify(out));
});
