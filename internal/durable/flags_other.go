//go:build !unix

package durable

// NoWait is 0: no file that has a name in a directory is waited for here.
const NoWait = 0

// NoFollow is 0: there is no such flag here. Callers look for a link before they open a file,
// and compare what they opened with what has the name then.
const NoFollow = 0
