// Package consent holds what a person has to agree to before files of a checkout act: that
// a host is asked, and that the value of a variable is sent to one.
//
// It asks nobody by itself. An [Agreement] is given by whoever can ask a person; without one
// everything is refused, with an error that names the option which allows it.
package consent

import (
	"errors"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Agreement is what asks for consent to send variables, and to ask hosts. Its zero value,
// and nil, refuse all. Its functions may be called by several goroutines at once.
type Agreement struct {
	Ask     func(VariableUse) error // nil if a person agreed to the use
	AskHost func(HostUse) error     // likewise
}

var errNotAgreed = errors.New("nobody agreed to that; nothing was sent")

// NotAgreed is what of err says that nobody agreed to something; nil if nothing does.
func NotAgreed(err error) error {
	var e *evidence.Error
	if errors.Is(err, errNotAgreed) && errors.As(err, &e) {
		return e
	}
	return nil
}
