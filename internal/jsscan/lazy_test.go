package jsscan

import "testing"

// What a function imports is found however it is called, and if it never is.
func TestEveryBodyIsRead(t *testing.T) {
	for _, code := range []string{
		`class A { constructor() { require('a') } } class B extends A {} new B()`,
		`class A { constructor() { require('a') } } class B extends A { constructor() { super() } }`,
		`class A { static { (() => require('a'))() } }`, `class A { get x() { return require('a') } }`,
		`({ set x(v) { require('a') } })`, `function f(k) { return () => require('a') } f({})`,
		`function f(k) { return g[k] } const g = { x() { require('a') } }; f(1)`,
		`const f = (a) => () => a(); f(() => require('a'))`, `Object.defineProperty(x, 'y', { get() { require('a') } })`,
		`new Proxy({}, { get() { require('a') } })`, `[1].map(function () { require('a') })`,
		`function never() { function inner() { require('a') } }`, `export default class { m() { require('a') } }`,
		`(function () { require('a') }).bind(x)`, `f.call(x, () => require('a'))`, "x`${() => require('a')}`",
		`const { a = () => require('a') } = {}`, `function* f() { yield () => require('a') }`,
	} {
		if got := summary(t, "x.mjs", code); got != "require:a" {
			t.Errorf("%s: got %q", code, got)
		}
	}
}
