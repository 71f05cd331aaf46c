// Classes by functions and prototypes.
function Animal(name) { if (!(this instanceof Animal)) return new Animal(name); this.name = name; }
Animal.prototype.speak = function () { return this.name; };
Animal.prototype.constructor = Animal;
function Dog() { Animal.apply(this, arguments); }
Dog.prototype = Object.create(Animal.prototype, { constructor: { value: Dog, writable: true, configurable: true } });
Dog.super_ = Animal;
exports.createPlugin = () => Animal('x').speak() + new Dog('y').speak() + (new Dog().constructor === Dog);
