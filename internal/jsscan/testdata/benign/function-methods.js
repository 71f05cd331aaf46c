// Calls functions by call, apply and bind.
const slice = Function.prototype.call.bind(Array.prototype.slice);
const has = Object.prototype.hasOwnProperty;
const isFunction = (f) => f instanceof Function || Object.prototype.toString.call(f) === '[object Function]';
exports.createPlugin = function () {
  return has.call({ a: 1 }, 'a') && isFunction(slice) && Math.max.apply(null, slice(arguments)) > Function.prototype.length;
};
