// What a plugin of tier 2 finds in its context. It is the text of one function, which runs
// there before the plugin: it makes the few globals of Node that a plugin is given, freezes
// everything that the language has, and returns how the host's thread talks to it.
//
// ask is the only function of another realm here. It never leaves this closure, and what it
// throws is swallowed: an error of its realm would lead to that realm's Function.
(function makeGlobals(ask, makeRuntime, given) {
  'use strict';
  const global = globalThis;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, freeze, create } = Object;
  const ownKeys = Reflect.ownKeys;

  // Shared memory can wait without end, wasm and the collector's callbacks run outside of every
  // time limit, and the console of V8 is the debugger's.
  for (const name of ['SharedArrayBuffer', 'Atomics', 'WebAssembly', 'FinalizationRegistry', 'console', 'gc', 'ShadowRealm']) {
    delete global[name];
  }
  // These run as long as what they are called on says, and V8 does not interrupt them.
  const { apply } = Reflect;
  const longest = 1 << 25;
  for (const name of given.uninterrupted) {
    const method = Array.prototype[name];
    if (typeof method !== 'function') continue;
    const { [name]: bounded } = { [name](...args) {
      const list = Object(this);
      // length is read once here and once there; an object that answers differently is not a list
      const length = Array.isArray(list) ? list.length : getOwnPropertyDescriptor(list, 'length')?.value;
      if (typeof length !== 'number' || !(length <= longest)) throw new RangeError(`${name} of more than ${longest} elements`);
      return apply(method, list, args);
    } };
    defineProperty(Array.prototype, name, { value: bounded, writable: true, enumerable: false, configurable: true });
  }

  // -- the host's answers

  const query = (what, text) => {
    let answer;
    try {
      answer = ask(what, text);
    } catch {
      // an error of another realm: nobody sees it
    }
    if (typeof answer !== 'string') throw new TypeError(`${what} failed`);
    return answer;
  };
  const { parse, stringify } = JSON;
  let outbox = [];
  let waiting = 0;
  const send = (text) => {
    if (typeof text !== 'string') return;
    waiting += text.length;
    if (waiting > given.outboxChars || outbox.length >= given.outboxMessages) {
      outbox = ['{"flood":true}'];
      waiting = 0;
      return;
    }
    outbox[outbox.length] = text;
  };
  const text = (value) => typeof value === 'string' ? value : `${value}`;

  const put = (target, name, value) => defineProperty(target, name, { value, writable: false, enumerable: false, configurable: false });

  // -- console

  const show = (value) => {
    if (typeof value === 'string') return value;
    try {
      if (value instanceof Error) return `${value.name}: ${value.message}`;
      return stringify(value) ?? text(value);
    } catch {
      return '[unreadable]';
    }
  };
  const console = {};
  for (const level of ['log', 'info', 'warn', 'error', 'debug', 'trace']) {
    console[level] = (...args) => send(stringify({ log: level, text: args.slice(0, 100).map(show).join(' ').slice(0, 8192) }));
  }
  for (const name of ['group', 'groupEnd', 'time', 'timeEnd', 'timeLog', 'table', 'dir', 'count', 'assert', 'clear']) console[name] = () => {};
  put(global, 'console', freeze(console));

  // -- timers

  const timers = new Map();
  let last = 0;
  class Timeout {
    #id;
    constructor(id) { this.#id = id; freeze(this); }
    ref() { return this; }
    unref() { return this; }
    hasRef() { return true; }
    close() { clear(this); return this; }
    [Symbol.toPrimitive]() { return this.#id; }
    static id(t) { return typeof t === 'object' && t !== null && #id in t ? t.#id : +t; }
  }
  const idOf = Timeout.id;
  delete Timeout.id;
  const arm = (repeat) => (run, ms, ...args) => {
    if (typeof run !== 'function') throw new TypeError('a timer needs a function');
    if (timers.size >= given.timers) throw new RangeError(`more than ${given.timers} timers`);
    const id = ++last;
    timers.set(id, { run, args, repeat });
    const wait = +ms;
    send(stringify({ timer: id, ms: wait >= 1 && wait <= 2147483647 ? Math.floor(wait) : 1, repeat }));
    return new Timeout(id);
  };
  const clear = (t) => {
    if (t === undefined || t === null) return;
    const id = idOf(t);
    if (timers.delete(id)) send(stringify({ clear: id }));
  };
  const setTimeout = arm(false);
  const setInterval = arm(true);
  const setImmediate = (run, ...args) => setTimeout(run, 1, ...args);
  put(global, 'setTimeout', setTimeout);
  put(global, 'setInterval', setInterval);
  put(global, 'setImmediate', setImmediate);
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) put(global, name, clear);
  const resolved = Promise.resolve();
  const queueMicrotask = (run) => {
    if (typeof run !== 'function') throw new TypeError('queueMicrotask needs a function');
    resolved.then(() => run());
  };
  put(global, 'queueMicrotask', queueMicrotask);

  // -- text and bytes

  class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(input = '') {
      const s = text(input).toWellFormed?.() ?? text(input);
      const bytes = [];
      for (const c of s) {
        let p = c.codePointAt(0);
        if (p >= 0xd800 && p <= 0xdfff) p = 0xfffd;
        if (p < 0x80) bytes.push(p);
        else if (p < 0x800) bytes.push(0xc0 | p >> 6, 0x80 | p & 63);
        else if (p < 0x10000) bytes.push(0xe0 | p >> 12, 0x80 | p >> 6 & 63, 0x80 | p & 63);
        else bytes.push(0xf0 | p >> 18, 0x80 | p >> 12 & 63, 0x80 | p >> 6 & 63, 0x80 | p & 63);
      }
      return new Uint8Array(bytes);
    }
  }
  class TextDecoder {
    constructor(label = 'utf-8') {
      if (!['utf-8', 'utf8'].includes(text(label).toLowerCase())) throw new RangeError(`encoding ${label} is not given in tier 2`);
    }
    get encoding() { return 'utf-8'; }
    decode(input = new Uint8Array()) {
      const b = input instanceof ArrayBuffer ? new Uint8Array(input) : new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
      let out = '';
      for (let i = b[0] === 0xef && b[1] === 0xbb && b[2] === 0xbf ? 3 : 0; i < b.length;) {
        const first = b[i++];
        const more = first < 0x80 ? 0 : first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : -1;
        let p = more === 0 ? first : first & (0x3f >> more);
        let n = 0;
        while (n < more && (b[i] & 0xc0) === 0x80) { p = p << 6 | b[i] & 63; i++; n++; }
        const least = [0, 0x80, 0x800, 0x10000][more];
        out += more < 0 || n < more || p < least || p > 0x10ffff || (p >= 0xd800 && p < 0xe000) ? '\ufffd' : String.fromCodePoint(p);
      }
      return out;
    }
  }
  put(global, 'TextEncoder', TextEncoder);
  put(global, 'TextDecoder', TextDecoder);

  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const btoa = (input) => {
    const s = text(input);
    let out = '';
    for (let i = 0; i < s.length; i += 3) {
      const [a, b, c] = [s.charCodeAt(i), s.charCodeAt(i + 1), s.charCodeAt(i + 2)];
      if (a > 255 || b > 255 || c > 255) throw new RangeError('btoa takes bytes');
      out += digits[a >> 2] + digits[(a & 3) << 4 | b >> 4] + (i + 1 < s.length ? digits[(b & 15) << 2 | c >> 6] : '=') + (i + 2 < s.length ? digits[c & 63] : '=');
    }
    return out;
  };
  const atob = (input) => {
    const s = text(input).replace(/[\t\n\f\r ]/g, '').replace(/={1,2}$/, '');
    let out = '';
    let bits = 0;
    let held = 0;
    for (const c of s) {
      const v = digits.indexOf(c);
      if (v < 0 || c === '') throw new RangeError('atob takes base64');
      held = held << 6 | v;
      if ((bits += 6) >= 8) { bits -= 8; out += String.fromCharCode(held >> bits & 255); held &= (1 << bits) - 1; }
    }
    return out;
  };
  put(global, 'btoa', btoa);
  put(global, 'atob', atob);

  // -- clone

  const clone = (value, seen = new Map()) => {
    if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError('a function cannot be cloned');
    if (typeof value !== 'object' || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const keep = (copy) => { seen.set(value, copy); return copy; };
    if (Array.isArray(value)) { const a = keep([]); for (let i = 0; i < value.length; i++) if (i in value) a[i] = clone(value[i], seen); a.length = value.length; return a; }
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof Map) { const m = keep(new Map()); for (const [k, v] of value) m.set(clone(k, seen), clone(v, seen)); return m; }
    if (value instanceof Set) { const m = keep(new Set()); for (const v of value) m.add(clone(v, seen)); return m; }
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) return keep(value instanceof DataView ? new DataView(value.buffer.slice(0), value.byteOffset, value.byteLength) : new value.constructor(value));
    if (value instanceof Error) { const e = keep(new Error(value.message)); e.name = value.name; return e; }
    const o = keep({});
    for (const key of Object.keys(value)) defineProperty(o, key, { value: clone(value[key], seen), writable: true, enumerable: true, configurable: true });
    return o;
  };
  put(global, 'structuredClone', (value) => clone(value));

  // -- URLs: parsed by the host, whose fetch reads them the same way

  class URLSearchParams {
    #pairs = [];
    #changed = () => {};
    constructor(init = '', changed) {
      if (typeof changed === 'function') this.#changed = changed;
      if (typeof init === 'string') this.#pairs = parse(query('query', init));
      else if (init !== null && typeof init === 'object' && typeof init[Symbol.iterator] === 'function') for (const [k, v] of init) this.#pairs.push([text(k), text(v)]);
      else if (init !== null && typeof init === 'object') for (const k of Object.keys(init)) this.#pairs.push([k, text(init[k])]);
    }
    get size() { return this.#pairs.length; }
    append(k, v) { this.#pairs.push([text(k), text(v)]); this.#changed(this.toString()); }
    delete(k) { this.#pairs = this.#pairs.filter((p) => p[0] !== k); this.#changed(this.toString()); }
    get(k) { return this.#pairs.find((p) => p[0] === k)?.[1] ?? null; }
    getAll(k) { return this.#pairs.filter((p) => p[0] === k).map((p) => p[1]); }
    has(k) { return this.#pairs.some((p) => p[0] === k); }
    set(k, v) {
      const first = this.#pairs.find((p) => p[0] === k);
      if (!first) return this.append(k, v);
      first[1] = text(v);
      this.#pairs = this.#pairs.filter((p) => p === first || p[0] !== k);
      this.#changed(this.toString());
    }
    sort() { this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); this.#changed(this.toString()); }
    forEach(each, self) { for (const [k, v] of this.#pairs) apply(each, self, [v, k, this]); }
    *entries() { for (const p of this.#pairs) yield [...p]; }
    *keys() { for (const p of this.#pairs) yield p[0]; }
    *values() { for (const p of this.#pairs) yield p[1]; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return query('encode', stringify(this.#pairs)); }
  }
  const parts = ['href', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];
  class URL {
    #at;
    #params;
    constructor(input, base) {
      this.#at = parse(query('url', stringify({ url: text(input), base: base === undefined ? undefined : text(base) })));
      if (this.#at === null) { const e = new TypeError('Invalid URL'); e.code = 'ERR_INVALID_URL'; throw e; }
    }
    static canParse(input, base) { try { new URL(input, base); return true; } catch { return false; } }
    static change(url, part, value) {
      const at = parse(query('url', stringify({ url: url.#at.href, part, value: text(value) })));
      if (at === null) throw new TypeError('Invalid URL');
      url.#at = at;
      if (part === 'search' || part === 'href') url.#params = undefined;
    }
    static part(url, part) { return url.#at[part]; }
    get origin() { return this.#at.origin; }
    get searchParams() { return this.#params ??= new URLSearchParams(this.#at.search, (s) => { const p = this.#params; change(this, 'search', s); this.#params = p; }); }
    toString() { return this.#at.href; }
    toJSON() { return this.#at.href; }
  }
  const { change, part: partOf } = URL;
  delete URL.change;
  delete URL.part;
  for (const part of parts) {
    defineProperty(URL.prototype, part, { get() { return partOf(this, part); }, set(v) { change(this, part, v); }, enumerable: true, configurable: true });
  }
  put(global, 'URL', URL);
  put(global, 'URLSearchParams', URLSearchParams);

  // -- randomness and time

  const randomUUID = () => query('uuid', '');
  const getRandomValues = (array) => {
    if (!ArrayBuffer.isView(array) || array.byteLength > 65536) throw new TypeError('getRandomValues takes at most 65536 bytes');
    const hex = query('random', text(array.byteLength));
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(hex.slice(2 * i, 2 * i + 2), 16);
    return array;
  };
  const crypto = freeze({ randomUUID, getRandomValues });
  put(global, 'crypto', crypto);
  const begin = Date.now();
  put(global, 'performance', freeze({ now: () => Date.now() - begin, timeOrigin: begin }));

  // -- the network, by messages, where the manifest asks for it

  const fetches = new Map();
  let lastFetch = 0;
  const unpack = (base64) => { const s = atob(base64); const b = new Uint8Array(s.length); for (let i = 0; i < s.length; i++) b[i] = s.charCodeAt(i); return b; };
  class Headers {
    #pairs = new Map();
    constructor(init = []) {
      const list = typeof init?.[Symbol.iterator] === 'function' ? [...init] : Object.keys(init ?? {}).map((k) => [k, init[k]]);
      for (const [k, v] of list) this.append(k, v);
    }
    append(k, v) { k = text(k).toLowerCase(); this.#pairs.set(k, this.#pairs.has(k) ? `${this.#pairs.get(k)}, ${v}` : text(v)); }
    set(k, v) { this.#pairs.set(text(k).toLowerCase(), text(v)); }
    get(k) { return this.#pairs.get(text(k).toLowerCase()) ?? null; }
    has(k) { return this.#pairs.has(text(k).toLowerCase()); }
    delete(k) { this.#pairs.delete(text(k).toLowerCase()); }
    forEach(each) { for (const [k, v] of this.#pairs) each(v, k, this); }
    entries() { return this.#pairs.entries(); }
    keys() { return this.#pairs.keys(); }
    values() { return this.#pairs.values(); }
    [Symbol.iterator]() { return this.#pairs.entries(); }
  }
  if (given.network) {
    put(global, 'Headers', Headers);
    put(global, 'fetch', (input, init = {}) => new Promise((resolve, reject) => {
      if (fetches.size >= given.fetches) throw new RangeError(`more than ${given.fetches} requests at once`);
      const body = init.body;
      if (body !== undefined && body !== null && typeof body !== 'string' && !(body instanceof URLSearchParams)) {
        throw new TypeError('tier 2 sends bodies of text');
      }
      const headers = [...new Headers(init.headers)];
      if (body instanceof URLSearchParams) headers.push(['content-type', 'application/x-www-form-urlencoded']);
      const id = ++lastFetch;
      fetches.set(id, { resolve, reject });
      send(stringify({ fetch: id, url: text(input), method: text(init.method ?? 'GET'), headers, body: body == null ? undefined : text(body),
        redirect: init.redirect === undefined ? undefined : text(init.redirect) }));
    }));
  }
  const answerFetch = (m) => {
    const f = fetches.get(m.fetched);
    if (!f) return;
    fetches.delete(m.fetched);
    if (m.error !== undefined) return f.reject(new TypeError(m.error));
    const bytes = unpack(m.body);
    const string = () => new TextDecoder().decode(bytes);
    f.resolve(freeze({
      status: m.status, statusText: m.statusText, ok: m.status >= 200 && m.status < 300, url: m.url, redirected: m.redirected,
      headers: new Headers(m.headers), bodyUsed: false,
      text: async () => string(), json: async () => parse(string()), arrayBuffer: async () => bytes.buffer.slice(0),
    }));
  };

  // -- process and modules

  const nextTick = (run, ...args) => queueMicrotask(() => run(...args));
  const process = freeze({
    env: freeze(create(null)), argv: freeze([]), execArgv: freeze([]), version: given.version, versions: freeze({ node: given.version.slice(1) }),
    platform: given.platform, arch: given.arch, nextTick, cwd: () => '/', uptime: () => (Date.now() - begin) / 1000,
    emitWarning: (w) => console.warn(w), on() { return process; }, once() { return process; }, off() { return process; }, emit: () => false,
  });
  put(global, 'process', process);
  put(global, 'global', global);

  class EventEmitter {
    #listeners = new Map();
    static get EventEmitter() { return EventEmitter; }
    on(name, run) { return this.addListener(name, run); }
    addListener(name, run) {
      if (typeof run !== 'function') throw new TypeError('a listener is a function');
      this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), { run }]);
      return this;
    }
    once(name, run) { this.on(name, run); this.#listeners.get(name).at(-1).once = true; return this; }
    off(name, run) { return this.removeListener(name, run); }
    removeListener(name, run) {
      const all = this.#listeners.get(name) ?? [];
      const i = all.findLastIndex((l) => l.run === run);
      if (i >= 0) this.#listeners.set(name, all.filter((_, n) => n !== i));
      return this;
    }
    removeAllListeners(name) { if (name === undefined) this.#listeners.clear(); else this.#listeners.delete(name); return this; }
    emit(name, ...args) {
      const all = this.#listeners.get(name) ?? [];
      if (all.length === 0 && name === 'error') throw args[0];
      for (const l of all) { if (l.once) this.removeListener(name, l.run); apply(l.run, this, args); }
      return all.length > 0;
    }
    listenerCount(name) { return (this.#listeners.get(name) ?? []).length; }
    listeners(name) { return (this.#listeners.get(name) ?? []).map((l) => l.run); }
    eventNames() { return [...this.#listeners.keys()]; }
    setMaxListeners() { return this; }
  }

  const normal = (p, rooted) => {
    const out = [];
    for (const s of p.split('/')) {
      if (s === '' || s === '.') continue;
      if (s === '..' && out.length > 0 && out.at(-1) !== '..') out.pop();
      else if (s !== '..' || !rooted) out.push(s);
    }
    return out.join('/');
  };
  const path = {
    sep: '/', delimiter: ':',
    isAbsolute: (p) => text(p).startsWith('/'),
    normalize(p) { const r = p.startsWith('/'); const n = normal(p, r); return (r ? '/' : '') + n + (n && p.endsWith('/') ? '/' : '') || (r ? '/' : '.'); },
    join(...all) { const s = all.filter((p) => p !== '').join('/'); return s === '' ? '.' : path.normalize(s); },
    resolve(...all) { let s = ''; for (const p of all.reverse()) { if (p === '') continue; s = s === '' ? p : `${p}/${s}`; if (p.startsWith('/')) break; } return '/' + normal(s, true); },
    dirname(p) { const t = p.replace(/(?!^)\/+$/, ''); const i = t.lastIndexOf('/'); return i < 0 ? '.' : i === 0 ? '/' : t.slice(0, i).replace(/(?!^)\/+$/, ''); },
    basename(p, ending = '') { const b = p.replace(/\/+$/, '').split('/').at(-1); return ending !== '' && b !== ending && b.endsWith(ending) ? b.slice(0, -ending.length) : b; },
    extname(p) { const b = path.basename(p); const i = b.lastIndexOf('.'); return i <= 0 ? '' : b.slice(i); },
    relative(from, to) {
      const a = path.resolve(from).split('/').filter(Boolean);
      const b = path.resolve(to).split('/').filter(Boolean);
      let i = 0;
      while (i < a.length && i < b.length && a[i] === b[i]) i++;
      return [...a.slice(i).map(() => '..'), ...b.slice(i)].join('/');
    },
    parse(p) { const base = path.basename(p); const ext = path.extname(p); const root = p.startsWith('/') ? '/' : ''; const dir = path.dirname(p); return { root, dir: dir === '.' && !p.startsWith('.') ? '' : dir, base, ext, name: ext ? base.slice(0, -ext.length) : base }; },
    format: (o) => `${o.dir ?? o.root ?? ''}${o.dir && !o.dir.endsWith('/') ? '/' : ''}${o.base ?? (o.name ?? '') + (o.ext ?? '')}`,
  };
  path.posix = path;
  freeze(path);

  const later = (ms, value) => new Promise((resolve) => { setTimeout(resolve, ms, value); });
  const modules = {
    __proto__: null,
    timers: freeze({ setTimeout, setInterval, setImmediate, clearTimeout: clear, clearInterval: clear, clearImmediate: clear }),
    'timers/promises': freeze({ setTimeout: later, setImmediate: (value) => later(1, value), scheduler: freeze({ wait: later, yield: () => later(1) }) }),
    events: EventEmitter, path, 'path/posix': path, console, process,
    url: freeze({ URL, URLSearchParams }),
  };
  const require = (name) => {
    const plain = text(name).replace(/^node:/, '');
    const module = modules[plain];
    if (module === undefined) {
      const e = new Error(`Cannot find module '${plain}': tier 2 does not give it`);
      e.code = 'MODULE_NOT_FOUND';
      throw e;
    }
    return module;
  };
  require.resolve = (name) => { require(name); return text(name); };
  require.cache = freeze(create(null));
  freeze(require);

  // -- freezing

  // A stack would be formatted by a function of the host's realm, whose errors are of that realm:
  // without a limit that is a number none is taken.
  const noStack = { get: () => undefined, set: () => {}, enumerable: false, configurable: false };
  defineProperty(Error, 'prepareStackTrace', noStack);
  delete Error.stackTraceLimit;
  defineProperty(Error, 'stackTraceLimit', noStack);
  defineProperty(Error, 'captureStackTrace', { value: freeze((o) => { if (typeof o === 'object' && o !== null && !('stack' in o)) o.stack = ''; }), writable: false, configurable: false });

  // yielding makes data properties of a prototype such that objects that inherit from it may
  // have properties of the same name, although it is frozen.
  const yielding = (proto, names) => {
    for (const name of names) {
      const d = getOwnPropertyDescriptor(proto, name);
      if (!d || !('value' in d) || !d.configurable) continue;
      const { value } = d;
      defineProperty(proto, name, {
        get: freeze(() => value),
        set: freeze(function set(own) {
          if (this === proto || (typeof this !== 'object' && typeof this !== 'function') || this === null) throw new TypeError(`${text(name)} is frozen`);
          const at = getOwnPropertyDescriptor(this, name);
          if (at) this[name] = own;
          else defineProperty(this, name, { value: own, writable: true, enumerable: true, configurable: true });
        }),
        enumerable: d.enumerable, configurable: false,
      });
    }
  };

  const roots = [global,
    getPrototypeOf(function* () {}), getPrototypeOf(async function () {}), getPrototypeOf(async function* () {}),
    getPrototypeOf([][Symbol.iterator]()), getPrototypeOf(new Map()[Symbol.iterator]()), getPrototypeOf(new Set()[Symbol.iterator]()),
    getPrototypeOf(''[Symbol.iterator]()), getPrototypeOf(''.matchAll(/./g)), getPrototypeOf(Uint8Array),
    (function () { return arguments; })(), TextEncoder, TextDecoder, URL, URLSearchParams, Headers, EventEmitter, Timeout, ...Object.values(modules)];
  const segments = typeof Intl === 'object' && Intl.Segmenter ? new Intl.Segmenter().segment('a') : undefined;
  if (segments) roots.push(getPrototypeOf(segments), getPrototypeOf(segments[Symbol.iterator]()));
  if (typeof getPrototypeOf([].values()).map === 'function') roots.push(getPrototypeOf([].values().map((x) => x)));

  const errors = [Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError];
  if (typeof AggregateError === 'function') errors.push(AggregateError);
  yielding(Object.prototype, ownKeys(Object.prototype));
  yielding(Function.prototype, ['name', 'toString', 'constructor', 'call', 'apply', 'bind', Symbol.hasInstance]);
  for (const e of errors) yielding(e.prototype, ['name', 'message', 'toString', 'constructor']);
  for (const c of [Array, Date, RegExp, Map, Set, WeakMap, WeakSet, Promise, Symbol, Number, String, Boolean, EventEmitter, URL]) {
    yielding(c.prototype, ['toString', 'toJSON', 'toLocaleString', 'valueOf'].concat(c === Array || c === Promise ? [] : ['constructor']));
  }

  const reached = new Set();
  const queue = [];
  const visit = (v) => {
    if ((typeof v !== 'object' && typeof v !== 'function') || v === null || reached.has(v)) return;
    reached.add(v);
    queue.push(v);
  };
  roots.forEach(visit);
  while (queue.length > 0) {
    const v = queue.pop();
    visit(getPrototypeOf(v));
    for (const key of ownKeys(v)) {
      const d = getOwnPropertyDescriptor(v, key);
      visit(d.value);
      visit(d.get);
      visit(d.set);
    }
  }
  for (const v of reached) if (v !== global && !ArrayBuffer.isView(v)) freeze(v);
  for (const key of ownKeys(global)) {
    const d = getOwnPropertyDescriptor(global, key);
    if (!d.configurable) continue;
    if ('value' in d) defineProperty(global, key, { ...d, writable: false, configurable: false });
    else defineProperty(global, key, { ...d, set: undefined, configurable: false });
  }

  // -- messages

  const runtime = makeRuntime(send);
  let plugin;
  runtime.loadWith(async () => {
    const module = { exports: {} };
    apply(plugin, undefined, [module.exports, require, module]);
    const m = module.exports;
    return { createPlugin: m?.createPlugin ?? m?.default?.createPlugin ?? (typeof m === 'function' ? m : typeof m?.default === 'function' ? m.default : undefined) };
  });
  const { deliver } = runtime;
  put(global, '__hallmark', freeze({
    __proto__: null,
    enter(code) { if (plugin === undefined) plugin = code; },
    deliver(string) {
      const m = parse(string);
      if (m.fired !== undefined) {
        const t = timers.get(m.fired);
        if (!t) return;
        if (!t.repeat) timers.delete(m.fired);
        try {
          apply(t.run, undefined, t.args);
        } catch (e) {
          console.error(e);
        }
      } else if (m.fetched !== undefined) answerFetch(m);
      else deliver(string);
    },
    take() {
      const all = stringify(outbox);
      outbox = [];
      waiting = 0;
      return all;
    },
  }));
});
