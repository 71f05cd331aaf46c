package jsscan

import "testing"

// What stands in a try block that catches may be missing. In a function of it, or where the failure is thrown
// on, it may not.
func TestOptional(t *testing.T) {
	for code, want := range map[string]bool{
		`try { require('a') } catch {}`:                                         true,
		`let x; try { x = require('a') } catch (e) {}`:                          true,
		`async () => { try { await import('a') } catch {} }`:                    true,
		`if (!y) { try { const x = require('a'); f(x) } catch (e) { log(e) } }`: true,
		`try { if (y) require('a') } catch (e) {}`:                              true,
		`try { import('a') } catch {}`:                                          false,
		`try { require('a') } finally {}`:                                       false,
		`try { require('a') } catch (e) { throw e }`:                            false,
		`try {} catch (e) { require('a') }`:                                     false,
		`try { f(() => require('a')) } catch (e) {}`:                            false,
		`try { function g() { require('a') } } catch (e) {}`:                    false,
		`try { x() } catch (e) {} require('a')`:                                 false,
		`require('a')`:                                                          false,
	} {
		found, err := File("x.js", []byte(code))
		if err != nil || len(found) != 1 || found[0].Specifier != "a" || found[0].Optional != want {
			t.Errorf("%s: %+v, %v; want optional %v", code, found, err, want)
		}
	}
}
