// The host's side of a plugin that runs elsewhere: calls and answers as texts, within limits.
import { OperationError, PolicyError, ValidationError } from '../errors.js';
import { quote, read, registered, resultOf } from './hostile.js';

/** defaults are the limits that a host does not name. */
export const defaults = {
  heapBytes: 256 << 20,
  callMillis: 30_000,
  startMillis: 30_000,
  messageBytes: 4 << 20,
  messagesPerSecond: 1000,
  /** Calls that a plugin has not answered. */
  pendingCalls: 100,
};

/** limitsOf completes limits, and refuses ones that are no positive numbers. */
export function limitsOf(given = {}) {
  const limits = { ...defaults };
  for (const name of Object.keys(given)) {
    const value = given[name];
    if (!(name in defaults)) throw new ValidationError(`unknown limit ${name}; known are ${Object.keys(defaults).join(', ')}`);
    if (value === undefined) continue;
    if (typeof value !== 'number' || !(value > 0)) throw new ValidationError(`the limit ${name} is no positive number`);
    limits[name] = value;
  }
  return limits;
}

/** why says what a plugin did, for the words that its process is ended with. */
export const why = {
  __proto__: null,
  start: (l) => `it did not start within ${l.startMillis} ms`,
  idle: (l) => `it used more than ${l.callMillis} ms of processor time while nobody called it`,
  cpu: (l) => `it used more than ${l.callMillis} ms of processor time for one call`,
  heap: (l) => `it holds more than ${l.heapBytes} bytes`,
  flood: (l) => `it sent more than ${l.messagesPerSecond} messages in a second`,
  message: (l) => `it sent a message of more than ${l.messageBytes} bytes`,
  silent: () => 'it does not answer',
  unasked: () => 'it answered what nobody asked',
  unanswered: (l) => `it left ${l.pendingCalls} calls without an answer`,
};

/** Peer holds the calls that a plugin has to answer. send takes a text; kill ends the plugin for good and gives a promise. */
export class Peer {
  #plugin;
  #limits;
  #send;
  #kill;
  #pending = new Map();
  #since = 0; // when the first of them was made
  #busy = 0;
  #left = new Set(); // calls that nobody waits for any more
  #next = 1;
  #second = 0;
  #received = 0;
  #ended;
  #killed;

  constructor(plugin, limits, { send, kill }) {
    this.#plugin = plugin;
    this.#limits = limits;
    this.#send = send;
    this.#kill = kill;
  }

  /** ended is the error that ended the plugin, or nothing. */
  get ended() { return this.#ended; }
  get pending() { return this.#pending.size; }
  /** pendingMillis is for how long there were calls that are not answered. */
  get pendingMillis() { return this.#busy + (this.#pending.size > 0 ? performance.now() - this.#since : 0); }
  /** answered counts the calls that were answered. */
  answered = 0;

  /** end ends the plugin: each call fails with the same error, now and later. */
  end(reason, Kind = OperationError) {
    if (this.#ended) return this.#killed;
    const said = why[reason] ? why[reason](this.#limits) : reason;
    this.#ended = new Kind(`plugin ${this.#plugin.name} was ended: ${said}`, { plugin: this.#plugin.name });
    for (const p of this.#pending.values()) p.fail(this.#ended);
    this.#pending.clear();
    this.#left.clear();
    this.#killed = Promise.resolve(this.#kill());
    return this.#killed;
  }

  /** receive takes a text of the plugin: the answer to a call. Anything else ends the plugin. */
  receive(text) {
    if (this.#ended) return;
    try {
      this.#take(text);
    } catch (e) {
      this.end(`it sent ${quote(e.message, 100)}`, PolicyError);
    }
  }

  #take(text) {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#second) [this.#second, this.#received] = [second, 0];
    if (++this.#received > this.#limits.messagesPerSecond) return void this.end('flood', PolicyError);
    if (this.#pending.size + this.#left.size === 0) return void this.end('unasked', PolicyError); // before it is read
    if (text.length > this.#limits.messageBytes) return void this.end('message', PolicyError);
    const m = read(text, this.#limits.messageBytes);
    if (typeof m !== 'object' || m === null || Array.isArray(m)) throw new Error('a message that is no object');
    const p = this.#pending.get(m.id);
    if (!p) {
      if (!this.#left.delete(m.id)) this.end('unasked', PolicyError);
      return;
    }
    this.#remove(m.id);
    this.answered++;
    if (m.error !== undefined && m.error !== null) p.fail(this.#errorOf(m.error));
    else p.done(m.result);
  }

  #remove(id) {
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#busy += performance.now() - this.#since;
  }

  #errorOf(from) {
    const name = typeof from.name === 'string' ? from.name : 'Error';
    const message = typeof from.message === 'string' ? from.message : '';
    const Kind = name === 'validationError' ? ValidationError : OperationError;
    const said = name === 'Error' || name === 'validationError' ? quote(message) : quote(`${name}: ${message}`);
    const e = new Kind(`plugin ${this.#plugin.name} failed: ${said}`, { plugin: this.#plugin.name });
    e.pluginMessage = message.slice(0, 4000);
    return e;
  }

  /** call asks the plugin, and gives what it answered, unchecked. */
  call(method, params, millis = this.#limits.callMillis) {
    if (this.#ended) return Promise.reject(this.#ended);
    if (this.#pending.size >= this.#limits.pendingCalls) {
      return Promise.reject(new OperationError(
        `plugin ${this.#plugin.name} has not answered ${this.#pending.size} calls`, { plugin: this.#plugin.name }));
    }
    const id = this.#next++;
    let text;
    try {
      text = JSON.stringify({ id, method, params });
    } catch (e) {
      return Promise.reject(new ValidationError(`arguments for plugin ${this.#plugin.name}: ${e.message}`, { plugin: this.#plugin.name }));
    }
    if (text.length > this.#limits.messageBytes) {
      return Promise.reject(new ValidationError(
        `arguments for plugin ${this.#plugin.name} of more than ${this.#limits.messageBytes} bytes`, { plugin: this.#plugin.name }));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#fail(id, method, millis), millis);
      const settle = (how) => (value) => { clearTimeout(timer); how(value); };
      if (this.#pending.size === 0) this.#since = performance.now();
      this.#pending.set(id, { done: settle(resolve), fail: settle(reject) });
      this.#send(text);
    });
  }

  // fail ends a call that took too long. A plugin that answers nothing at all is ended.
  #fail(id, method, millis) {
    const p = this.#pending.get(id);
    if (!p) return;
    this.#remove(id);
    this.#left.add(id);
    if (this.#left.size > this.#limits.pendingCalls) return void this.end('unanswered');
    if (method === 'start' || method === 'ping') {
      p.fail(new OperationError('late'));
      this.end(method === 'start' ? 'start' : 'silent');
      return;
    }
    p.fail(new OperationError(`plugin ${this.#plugin.name} did not answer within ${millis} ms`, { plugin: this.#plugin.name }));
    this.call('ping', {}, 1000).catch(() => {});
  }

  /** start runs createPlugin, and gives what the plugin registered. */
  async start() {
    const answer = await this.call('start', {}, this.#limits.startMillis).catch((e) => {
      if (!this.#ended) this.end('it did not start');
      throw e.message === 'late' ? this.#ended : e;
    });
    try {
      return registered(answer);
    } catch (e) {
      await this.end(`it registered ${quote(e.message)}`, PolicyError);
      throw this.#ended;
    }
  }

  /** ask calls a handler of a kind, and checks the form of what it gave. */
  async ask(kind, params) {
    const result = await this.call(kind, params);
    try {
      return resultOf(kind, result);
    } catch (e) {
      throw new OperationError(`plugin ${this.#plugin.name} gave ${e.message}`, { plugin: this.#plugin.name });
    }
  }
}
