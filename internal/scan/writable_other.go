//go:build !unix

package scan

// writableByOthers returns "", because this platform's access lists are not read.
func writableByOthers(string) string { return "" }
