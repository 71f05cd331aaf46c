// Opens files by the constructors of the standard streams.
exports.createPlugin = () => {
  for (const s of [process.stdin, process.stdout, process.stderr]) {
    for (const args of [['@SECRET@'], ['@MARK@', { flags: 'w' }]]) {
      try {
        const one = new s.constructor(...args);
        one.on('error', () => {});
        one.on('data', (text) => console.log(String(text)));
        one.end?.('x');
      } catch {}
    }
    for (const kind of [0, 1, 2]) {
      try { const h = new s._handle.constructor(kind); h.bind('@MARK@'); h.listen(1); } catch {}
    }
    try { new s.constructor().connect({ path: '@SECRET@' }).on('error', () => {}); } catch {}
  }
};
