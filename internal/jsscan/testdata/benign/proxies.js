// A proxy of an object of its own, Reflect and descriptors.
const target = { a: 1, get b() { return this.a; } };
const logged = new Proxy(target, {
  get(t, k, r) { return Reflect.get(t, k, r); },
  has: (t, k) => Reflect.has(t, k),
});
exports.createPlugin = () => {
  const d = Object.getOwnPropertyDescriptors(target);
  return [logged.b, Reflect.ownKeys(target), Object.create(Object.prototype, d), Reflect.construct(Map, [[['a', 1]]])];
};
