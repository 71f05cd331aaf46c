//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package durable

import (
	"errors"
	"os"
)

// lockFile fails: this system has no lock that the kernel releases when a process ends.
func lockFile(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func unlockFile(*os.File) {}
