// Takes apart the stack of an error, and its class.
exports.createPlugin = () => {
  class PluginError extends Error { constructor(m, o) { super(m, o); this.name = new.target.name; Error.captureStackTrace?.(this, this.constructor); } }
  const e = new PluginError('x', { cause: new Error('y') });
  if (e.constructor !== PluginError) throw e;
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  Error.stackTraceLimit = limit;
  return Object.getOwnPropertyNames(e).map((k) => e[k]);
};
