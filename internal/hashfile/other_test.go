//go:build unix && !linux

package hashfile

func setAttribute(string) bool { return false }

func hasAttribute(string) bool { return false }
