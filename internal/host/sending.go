package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Sending decides which environment variables are sent where, and which hosts are asked, if a file
// of a checkout names them. It allows what a person consented to before, on this machine or with an
// option, and what a person consents to now. A consent given at the terminal is stored. The zero
// value allows nothing.
type Sending struct {
	Allowed []machine.Variable // consented to with --allow-env
	Hosts   []string           // consented to with --allow-host: "HOST", "HOST:PORT" or "HOST:*"

	// Ask puts a question about a variable to the person at the terminal; nil if there is none.
	Ask func(wire.VariableUse) (Consent, error)

	// AskHosts puts one question about hosts; nil if no person can be asked.
	AskHosts func([]wire.HostUse) (Consent, error)

	mu      sync.Mutex
	answers map[machine.Variable]bool // of this run, so that nothing is asked twice
	hosts   map[string]bool           // likewise
}

// variablesFile returns the path of this machine's consents.
func (h *Host) variablesFile() string { return filepath.Join(h.Places.State, "variables.json") }

// readVariables reads this machine's consents. A missing file holds none.
func (h *Host) readVariables() (*machine.Variables, error) {
	data, err := ReadFile(h.variablesFile(), machine.MaxVariables)
	if err != nil {
		return nil, err
	}
	v, err := machine.ParseVariables(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, h.variablesFile(),
			"restore it from a backup, or move it away; what may be sent is asked again then", err)
	}
	return v, nil
}

// RequireVariableConsent returns nil if the variable may be sent to the host, else an error of
// class Refused that says how to consent. Nothing was sent then.
func (h *Host) RequireVariableConsent(u wire.VariableUse) error {
	v, err := machine.ParseVariable(u.String())
	if err != nil || h.Sending == nil {
		return u.Refusal() // nobody could agree to such a name
	}
	s := h.Sending
	s.mu.Lock()
	defer s.mu.Unlock()
	yes, asked := s.answers[v]
	if slices.Contains(s.Allowed, v) || yes {
		return nil
	}
	known, err := h.readVariables()
	if err != nil {
		return err
	}
	if known.Has(v) {
		return nil
	}
	if asked || s.Ask == nil {
		return u.Refusal()
	}
	answer, err := s.Ask(u)
	if err != nil {
		return err
	}
	if s.answers == nil {
		s.answers = map[machine.Variable]bool{}
	}
	if s.answers[v] = answer == InformedConsent; answer != InformedConsent {
		return u.Refusal()
	}
	return h.rememberVariable(v)
}

func (h *Host) rememberVariable(v machine.Variable) error {
	return h.changeVariables(func(known *machine.Variables) error { return known.Add(v) })
}

// changeVariables changes the file of consents under a lock, one process at a time.
func (h *Host) changeVariables(change func(*machine.Variables) error) error {
	if err := os.MkdirAll(h.Places.State, 0o700); err != nil {
		return err
	}
	unlock, err := durable.Lock(context.Background(), filepath.Join(h.Places.State, "variables.lock"),
		"what may be sent")
	if err != nil {
		return err
	}
	defer unlock()
	known, err := h.readVariables()
	if err != nil {
		return err
	}
	if err := change(known); err != nil {
		return err
	}
	data, err := known.Encode()
	if err != nil {
		return err
	}
	return durable.WriteFile(h.variablesFile(), data, 0o600)
}
