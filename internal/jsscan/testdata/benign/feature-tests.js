// Tests what the engine has.
const hasBigInt = typeof BigInt === 'function';
const hasWeak = typeof WeakRef !== 'undefined' && typeof FinalizationRegistry !== 'undefined';
const hasAsync = (async () => {}) instanceof Promise.resolve().constructor;
const hasRequire = typeof require === 'function' && typeof require.resolve === 'function';
const isMain = typeof require !== 'undefined' && require.main === module;
exports.createPlugin = () => ({ hasBigInt, hasWeak, hasAsync, hasRequire, isMain });
