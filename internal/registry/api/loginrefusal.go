package api

import (
	"errors"
	"fmt"
)

// ErrRefused is wrapped by the error of a login that gives no token, for a reason that
// its sender may know. Other errors are faults of this machine or of the services that
// it asks.
var ErrRefused = errors.New("refused")

// refusal is an ErrRefused whose text is the reason alone. Its cause, which may be nil, is for
// the registry's own log only: it may name hosts that only this machine reaches.
type loginRefusal struct {
	error
	cause error
}

func (loginRefusal) Is(target error) bool { return target == ErrRefused }
func (r loginRefusal) Unwrap() error      { return r.cause }

func refuse(format string, args ...any) error {
	return loginRefusal{error: fmt.Errorf(format, args...)}
}
