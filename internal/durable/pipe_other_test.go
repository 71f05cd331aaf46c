//go:build !unix

package durable

import "errors"

func pipe(string) error { return errors.ErrUnsupported }
