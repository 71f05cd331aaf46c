//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package durable

import (
	"errors"
	"os"
)

func lockFile(*os.File) (bool, error) { return false, errors.ErrUnsupported }
