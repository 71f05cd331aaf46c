package wire

import (
	"errors"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Agreement asks for consent to send variables, and to send requests to hosts. Its zero value, and
// nil, refuse everything. Its functions may be called by several goroutines at once.
type Agreement struct {
	Ask     func(VariableUse) error // nil if a person agreed to the use
	AskHost func(HostUse) error     // likewise
}

var errNotAgreed = errors.New("nobody agreed to that; nothing was sent")

// NotAgreed returns the part of err that reports a missing consent; nil if there is none.
func NotAgreed(err error) error {
	var e *evidence.Error
	if errors.Is(err, errNotAgreed) && errors.As(err, &e) {
		return e
	}
	return nil
}
