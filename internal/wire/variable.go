package wire

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// VariableUse is a variable of the environment that a file of a checkout wants to send to a host.
// It is not read before a person consents to exactly this use.
type VariableUse struct {
	Variable string
	Host     string // in lower case, with the port unless that is 443
	File     string // that names the variable, for messages
}

// String returns the use as --allow-env spells it.
func (u VariableUse) String() string { return u.Variable + "=" + u.Host }

// Refusal returns the error about a use without consent. Nothing was sent.
func (u VariableUse) Refusal() error {
	return evidence.Errorf(evidence.Refused, Plain(u.File, 300),
		"if it may be sent there: --allow-env "+Plain(u.String(), 300),
		fmt.Errorf("wants the value of %s sent to %s, and %w",
			Plain(u.Variable, 200), Plain(u.Host, 255), errNotAgreed))
}

// CheckVariable returns nil if a person consented to the use, else an *evidence.Error of class
// Refused.
func (a *Agreement) CheckVariable(u VariableUse) error {
	if a != nil && a.Ask != nil {
		return a.Ask(u)
	}
	return u.Refusal()
}
