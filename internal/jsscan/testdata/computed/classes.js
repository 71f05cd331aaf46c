// Classes, their constructors and names.
class Shape {
  #area = 0;
  static count = 0;
  constructor(area) { this.#area = area; this.constructor.count++; }
  clone() { return new this.constructor(this.#area); }
  get [Symbol.toStringTag]() { return this.constructor.name; }
  equals(o) { return o instanceof Shape && o.constructor === this.constructor && o.#area === this.#area; }
}
class Square extends Shape { constructor(a) { super(a * a); } }
exports.createPlugin = () => String(new Square(2).clone()) + Object.getPrototypeOf(Square).name + ''.constructor.name;
