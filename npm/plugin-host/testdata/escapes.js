// Ways out of a context, each as the body of a tool's handler or of createPlugin: of the classes
// that advisories about sandboxes of this kind describe. win(x) takes any object, and looks whether
// its constructors lead to another realm's process; a way that works writes the file mark. Each constructor is
// tried once for x, where the stack is lowest: what errors lead to is mostly what led to them.

/** prelude is what each way has at hand. */
export const prelude = (mark) => `
const mark = ${JSON.stringify(mark)};
const own = globalThis.process;
function use(p) {
  if (!p || p === own || typeof p.pid !== 'number' && typeof p.binding !== 'function' && !p.mainModule) return;
  let fs;
  try { fs = p.getBuiltinModule('fs'); } catch {}
  try { fs ??= p.mainModule.require('fs'); } catch {}
  try { fs ??= p.binding('fs'); } catch {}
  if (fs && fs.writeFileSync) fs.writeFileSync(mark, 'out');
  throw new Error('ESCAPED');
}
const texts = ['return process', 'return this.process', 'return globalThis.process'];
function win(x) {
  if (x === null || x === undefined) return;
  const seen = [], tried = [];
  const look = (o, deep) => {
    if (o === null || o === undefined || deep > 4 || seen.includes(o)) return;
    seen.push(o);
    let C;
    try { C = o.constructor; } catch { return; }
    for (const F of [C, C && C.constructor]) {
      if (typeof F !== 'function' || tried.includes(F)) continue;
      tried.push(F);
      for (const t of texts) {
        let p;
        try { p = F(t)(); } catch (e) { if (deep < 3) look(e, deep + 1); continue; }
        use(p);
      }
    }
    try { look(Object.getPrototypeOf(o), deep + 1); } catch {}
  };
  look(x, 0);
}
const overflow = (f) => { try { f(); } catch (e) { win(e); } return overflow2(f); };
function overflow2(f) { let n = 0; const r = () => { n++; try { f(); } catch (e) { win(e); } r(); }; try { r(); } catch (e) { win(e); } return n; }
`;

/** ways are bodies of async functions of (args, extra), by what they try. */
export const ways = {
  'constructor of this': `win(this); win(globalThis); return {content: []}`,
  'constructor of arguments of the handler': `win(args); win(extra); win(extra.signal); win(extra.sendNotification); return {content: []}`,
  'constructor of each global': `for (const k of Reflect.ownKeys(globalThis)) { let v; try { v = globalThis[k]; } catch (e) { win(e); continue; } win(v); if (typeof v === 'function') { win(v.prototype); try { win(v()); } catch (e) { win(e); } try { win(new v()); } catch (e) { win(e); } } } return {content: []}`,
  'the way of messages': `for (const k of Reflect.ownKeys(__hallmark)) { win(__hallmark[k]); try { win(__hallmark[k]()); } catch (e) { win(e); } try { win(__hallmark[k]({})); } catch (e) { win(e); } try { win(__hallmark[k]('{')); } catch (e) { win(e); } } return {content: []}`,
  'stack overflow in a host function': `overflow(() => new URL('http://a.example')); overflow(() => crypto.randomUUID()); overflow(() => crypto.getRandomValues(new Uint8Array(4))); return {content: []}`,
  'stack overflow while a stack is formatted': `overflow(() => new Error('x').stack); overflow(() => { const o = {}; Error.captureStackTrace(o); return o.stack; }); overflow(() => null.x); return {content: []}`,
  'stack overflow in console, timers and clones': `overflow(() => console.log(1)); overflow(() => structuredClone({a: [1]})); overflow(() => clearTimeout(setTimeout(() => {}, 1))); return {content: []}`,
  'prepareStackTrace and call sites': `
    const see = (e, sites) => { for (const s of sites) { win(s); for (const m of ['getThis', 'getFunction', 'getTypeName', 'getEvalOrigin']) { try { win(s[m]()); } catch (x) { win(x); } } } return sites; };
    for (const E of [Error, TypeError, RangeError, AggregateError]) { try { E.prepareStackTrace = see; } catch {} try { E.stackTraceLimit = 1000; } catch {} try { Object.defineProperty(E, 'prepareStackTrace', {value: see}); } catch {} }
    try { globalThis.Error = { prepareStackTrace: see, stackTraceLimit: 100 }; } catch {}
    const e = new Error('x'); win(e.stack); try { null.x } catch (x) { win(x.stack); if (Array.isArray(x.stack)) see(x, x.stack); }
    class Sub extends Error { static prepareStackTrace = see; } win(new Sub().stack); return {content: []}`,
  'prepareStackTrace on a host error of a promise': `try { await new Promise((_, r) => r(new Error())); } catch (e) { win(e); win(e.stack); } return {content: []}`,
  'species of promises': `
    class P extends Promise { static get [Symbol.species]() { return function (run) { run((v) => win(v), (v) => win(v)); }; } }
    const p = new P((r) => r(1)); try { p.then(() => win(1)); } catch (e) { win(e); }
    try { Promise[Symbol.species] = P; } catch (e) { win(e); } try { Promise.prototype.then = function (a, b) { win(a); win(b); }; } catch (e) { win(e); }
    const q = (async () => 1)(); q.constructor = { [Symbol.species]: function (run) { run((x) => win(x), (x) => win(x)); } }; q.then(() => {}); return {content: []}`,
  'then of a result': `return { get then() { win(this); return (resolve, reject) => { win(resolve); win(reject); resolve({ content: [] }); }; } }`,
  'then hooked for host promises': `Object.defineProperty(Object.prototype, 'then', { get() { win(this); return undefined; }, configurable: true }); return {content: []}`,
  'traps of proxies in a result': `const t = new Proxy({}, { get: (o, k, r) => { win(r); win(k); return k === 'toJSON' ? undefined : k === 'content' ? [] : undefined; }, has: () => true, ownKeys: () => ['content'], getOwnPropertyDescriptor: (o, k) => { win(k); return { value: [], enumerable: true, configurable: true, writable: true }; }, getPrototypeOf: (o) => { win(o); return null; }, apply: (f, self, a) => { win(self); win(a); win(a[0]); } }); return t`,
  'traps of proxies as handlers': `const h = new Proxy(function () {}, { apply(f, self, a) { win(self); win(a); for (const x of a) win(x); return { content: [] }; }, get(f, k) { win(k); return f[k]; } }); return h(args, extra)`,
  'getters on an error that is thrown': `throw { get name() { win(this); return { toString() { win(this); return 'n'; } }; }, get message() { win(arguments); return new Proxy({}, { get(o, k) { win(k); return () => 'm'; } }); }, get stack() { win(this); return 1; } }`,
  'a proxy that is thrown': `throw new Proxy(new Error(), { get(o, k, r) { win(r); if (typeof k === 'symbol') return undefined; return new Proxy(function () {}, { apply(f, s, a) { win(s); win(a); return 'x'; }, get: () => () => 'x' }); }, getPrototypeOf() { win(new Error()); return Error.prototype; } })`,
  'toString, toJSON and toPrimitive': `const evil = { toString() { win(this); win(arguments); win(arguments.callee === undefined ? 0 : 0); return 'x'; }, toJSON(k) { win(k); win(this); return { content: [] }; }, [Symbol.toPrimitive](h) { win(h); return 'x'; }, valueOf() { win(this); return 1; } }; console.log(evil); new URL('http://a.example/' + evil); try { setTimeout(() => {}, evil); } catch (e) { win(e); } return evil`,
  'async generators': `async function* g() { try { yield { then(a, b) { win(a); win(b); a(1); } }; } finally { win(this); } } for await (const x of g()) win(x); const i = g(); i.return({ get then() { win(this); return undefined; } }); win(Object.getPrototypeOf(g).constructor); try { win(Object.getPrototypeOf(g).constructor('yield process')()); } catch (e) { win(e); } return {content: []}`,
  'constructors of functions of each kind': `for (const f of [function () {}, async () => {}, function* () {}, async function* () {}, class {}]) { for (const C of [f.constructor, Object.getPrototypeOf(f).constructor, Reflect.get(Object.getPrototypeOf(f), 'constructor')]) for (const code of ['return import("node:fs")', 'return process', 'return this']) { try { const p = C(code).call(undefined); win(p); if (p && p.then) win(await p); } catch (e) { win(e); } } } return {content: []}`,
  'Reflect.construct with a newTarget of another realm': `for (const f of [Function, Object.getPrototypeOf(async function () {}).constructor]) for (const n of [extra.sendNotification, Proxy, Function, Object, __hallmark.deliver]) { try { win(Reflect.construct(f, ['return process'], n)()); } catch (e) { win(e); } try { win(Reflect.construct(Object, [], n)); } catch (e) { win(e); } } return {content: []}`,
  'eval, direct and indirect': `for (const run of [() => eval('process'), () => (0, eval)('this.process'), () => eval('import("node:fs")'), () => globalThis['ev' + 'al']('process'), () => setTimeout('process', 1), () => Reflect.apply(eval, undefined, ['import("node:child_process")'])]) { try { const p = run(); use(p); win(p); if (p && p.then) win(await p); } catch (e) { win(e); } } return {content: []}`,
  'WebAssembly': `try { const m = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])); win(m); } catch (e) { win(e); } try { const t = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }); win(t.buffer); } catch (e) { win(e); } try { WebAssembly.compileStreaming(); } catch (e) { win(e); } return {content: []}`,
  'caller and callee': `function f() { const out = []; try { out.push(f.caller); } catch (e) { win(e); } try { out.push(arguments.callee.caller); } catch (e) { win(e); } try { out.push(f.caller.caller); } catch (e) { win(e); } try { out.push(f.caller.caller.caller.caller.arguments); } catch (e) { win(e); } for (const x of out) { win(x); win(x && x.arguments); } } f(); setTimeout(f, 1); queueMicrotask(f); [1].forEach(f); return {content: []}`,
  'symbols and getters of the collector': `try { win(new FinalizationRegistry((x) => win(x))); } catch (e) { win(e); } const r = new WeakRef({}); win(r); try { globalThis.gc(); } catch (e) { win(e); } return {content: []}`,
  'sorting and iterating with hooks': `[3, 1].sort(function () { win(this); win(arguments); return 0; }); JSON.parse('[1]', function (k, v) { win(this); win(k); return v; }); JSON.stringify([1], function (k, v) { win(this); return v; }); 'a'.replace('a', function () { win(arguments); return ''; }); Array.from({ length: 1, get 0() { win(this); return 1; } }, function () { win(this); }); return {content: []}`,
  'modules of the context': `for (const n of ['fs', 'node:fs', 'child_process', 'vm', 'process', 'module', 'worker_threads', 'internal/bootstrap', '../../../../etc/passwd', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'url', 'events']) { try { const m = require(n); win(m); if (m.constructor) win(m.constructor); for (const k of Object.keys(m)) win(m[k]); } catch (e) { win(e); } } win(require); win(module); win(exports); return {content: []}`,
  'rejections that nobody handles': `Promise.reject(new Proxy({}, { get(o, k, r) { win(r); return undefined; }, has() { win(new Error()); return false; }, getOwnPropertyDescriptor(o, k) { win(k); return undefined; } })); Promise.reject({ get stack() { win(this); return 1; }, toString() { win(this); return 'x'; }, get [Symbol.toStringTag]() { win(this); return 'x'; } }); Promise.reject(null); const p = Promise.reject(1); setTimeout(() => p.catch((e) => win(e)), 5); return {content: []}`,
  'promises of builtins': `for (const p of [Promise.resolve(), Promise.all([1]), Promise.allSettled([Promise.reject(1)]), Promise.any([1]), Promise.race([1]), (async () => {})(), extra.sendNotification(), Array.fromAsync ? Array.fromAsync([1]) : 0]) { win(p); try { win(await p); } catch (e) { win(e); } if (p) win(p.then(() => {}).catch(() => {}).finally(() => {})); } try { await extra.sendRequest(); } catch (e) { win(e); } return {content: []}`,
  'descriptors and prototypes of what is given': `const all = [URL, URLSearchParams, TextEncoder, console, crypto, process, performance, setTimeout(() => {}, 1), new URL('http://a.example'), extra, require]; for (const o of all) { win(o); for (const k of Reflect.ownKeys(o)) { const d = Object.getOwnPropertyDescriptor(o, k); win(d); win(d.value); win(d.get); win(d.set); } let p = o; while (p = Object.getPrototypeOf(p)) { win(p); for (const k of Reflect.ownKeys(p)) { const d = Object.getOwnPropertyDescriptor(p, k); win(d.value); win(d.get); win(d.set); if (d.get) { try { win(d.get.call(o)); } catch (e) { win(e); } try { win(d.get.call({})); } catch (e) { win(e); } } } } } return {content: []}`,
  'a private member of what is given': `for (const m of ['get', 'toString', 'append']) { try { URLSearchParams.prototype[m].call({}, 1); } catch (e) { win(e); } } try { new URL({ toString() { throw new Proxy({}, { get() { win(1); } }); } }); } catch (e) { win(e); } try { new URL(Symbol()); } catch (e) { win(e); } try { new URL('x'.repeat(1 << 22)); } catch (e) { win(e); } try { crypto.getRandomValues(new Uint8Array(1 << 20)); } catch (e) { win(e); } return {content: []}`,
  'a time limit that is caught': `try { const end = Date.now() + 50; while (Date.now() < end) { try { overflow2(() => {}); } finally { win(new Error()); } } } catch (e) { win(e); } return {content: []}`,
  'Symbol.hasInstance and other well-known symbols': `for (const s of Object.getOwnPropertyNames(Symbol)) { const k = Symbol[s]; if (typeof k !== 'symbol') continue; for (const o of [Object.prototype, Function.prototype, Promise, Array, Error, String.prototype]) { try { Object.defineProperty(o, k, { get() { win(this); return undefined; } }); } catch (e) { win(e); } try { o[k] = function () { win(this); win(arguments); }; } catch (e) { win(e); } } } return {content: []}`,
  'nodejs.util.inspect.custom': `const o = { [Symbol.for('nodejs.util.inspect.custom')](d, options, inspect) { win(d); win(options); win(inspect); return options; }, inspect(d, o2) { win(o2); } }; console.log(o); console.error(o, new Error('x')); Promise.reject(o); throw Object.assign(new Error('x'), o, { cause: o })`,
  'import in a text that functions see': `const kinds = [Function, (async () => {}).constructor]; for (const K of kinds) { try { win(await K('return import("node:fs")')()); } catch (e) { win(e); } try { win(await K('a = import("node:fs")', 'return a')()); } catch (e) { win(e); } } try { win(await require('node:module').createRequire('/')('fs')); } catch (e) { win(e); } return {content: []}`,
  'timers that throw and timers on objects': `setTimeout(function () { win(this); win(arguments); throw new Proxy({}, { get(o, k, r) { win(r); return undefined; } }); }, 1); const t = setInterval(function () { win(this); clearInterval(t); }, 1); win(t[Symbol.toPrimitive]); try { clearTimeout({ valueOf() { win(this); return 1; }, get id() { return 1; } }); } catch (e) { win(e); } return {content: []}`,
};
