package host

import (
	"errors"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/surface"
)

// ForgetHost withdraws the consent to ask a host that a checkout names, and to send variables
// there, for every project. It fails if nobody consented to the host.
func ForgetHost(h *Host, text string) error {
	host, err := machine.ParseHost(text)
	if err != nil {
		return evidence.Errorf(evidence.Validation, "--host", "", err)
	}
	return h.changeVariables(func(known *machine.Variables) error {
		if !known.RemoveHost(host) {
			return evidence.Errorf(evidence.Validation, host,
				ForgetHint(known.AllHosts(), func(host string) string { return "hallmark forget --host " + host }),
				errors.New("nobody agreed on this machine that it is asked"))
		}
		return nil
	})
}

// maxHinted is how many names a hint lists.
const maxHinted = 20

// ForgetHint lists the names that can be forgotten, and the command that forgets the first.
func ForgetHint(names []string, command func(name string) string) string {
	if len(names) == 0 {
		return "nothing is remembered, and nothing needs to be forgotten"
	}
	names = slices.Sorted(slices.Values(names))
	first, more := names[0], ""
	if len(names) > maxHinted {
		names, more = names[:maxHinted], ", ..."
	}
	return surface.Escape("what can be forgotten: " + strings.Join(names, ", ") + more + "; for the first: '" +
		command(first) + "'")
}
