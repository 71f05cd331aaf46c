//go:build unix && !linux

package hashfile

import (
	"errors"
	"testing"
)

func mount(_, _ string) error { return errors.New("no bind mounts here") }

func unmount(string) error { return nil }

func otherMount(*testing.T) (string, bool) { return "", false }

func setAttribute(string) bool { return false }

func hasAttribute(string) bool { return false }
