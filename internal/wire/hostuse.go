package wire

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// HostUse is a host that a file of a checkout names for requests. Before a person consents it gets
// no request, and its name is not looked up.
type HostUse struct {
	Host string        // as wire.HostOf has it
	File string        // what names it, for messages: "hallmark.toml, [registry] url"
	Kind artifact.Kind // of the packages that come from there; may be empty
}

// Refusal returns the error about hosts without consent; there is at least one. Nothing was sent.
func Refusal(uses ...HostUse) error {
	var options, names []string
	for i, u := range uses {
		name := Plain(u.Host, 255)
		options = append(options, "--allow-host "+name)
		if i > 0 && u.File != uses[0].File {
			name += " (" + Plain(u.File, 300) + ")"
		}
		names = append(names, name)
	}
	return evidence.Errorf(evidence.Refused, Plain(uses[0].File, 300),
		"if that may be asked: "+strings.Join(options, " "),
		fmt.Errorf("wants %s asked, and %w", strings.Join(names, ", "), errNotAgreed))
}

// CheckHost returns nil if a person consented to requests to the host, else an *evidence.Error of
// class Refused.
func (a *Agreement) CheckHost(u HostUse) error {
	if a != nil && a.AskHost != nil {
		return a.AskHost(u)
	}
	return Refusal(u)
}
