// Requires modules of Node that need no permission.
const path = require('path'), os = require('node:os'), { createHash } = require('crypto');
const { promisify } = require('util'), url = require('url'), assert = require('assert').strict;
const { Readable } = require('stream'), zlib = require('zlib'), { performance } = require('perf_hooks');
const { AsyncLocalStorage } = require('async_hooks'), qs = require('querystring'), { StringDecoder } = require('string_decoder');
exports.createPlugin = () => {
  assert.ok(promisify(setTimeout));
  return [path.join(os.tmpdir(), 'x'), createHash('sha256').update('x').digest('hex'), new URL('https://example.com').host,
    Readable.from(['a']), zlib.gzipSync('x').length, performance.now(), new AsyncLocalStorage(), qs.parse('a=1'),
    new StringDecoder('utf8'), url.parse];
};
