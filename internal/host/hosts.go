package host

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// RequireHostConsent returns nil if hosts that files of a checkout name may be asked, else an
// error of class Refused that says how to consent; nothing was sent then. Hosts that Hallmark
// itself or the user's configuration names need no consent. A person is asked about all hosts
// with one question, and the answer is kept on this machine.
func (h *Host) RequireHostConsent(uses ...wire.HostUse) error {
	if len(uses) == 0 {
		return nil
	}
	known, err := h.readVariables()
	if err != nil {
		return err
	}
	uses = slices.DeleteFunc(slices.Clone(uses), func(u wire.HostUse) bool {
		return known.HasHost(u.Host) || h.Sending.allows(u.Host) || h.NeedsNoConsent(u.Host)
	})
	slices.SortStableFunc(uses, func(a, b wire.HostUse) int { return strings.Compare(a.Host, b.Host) })
	uses = slices.CompactFunc(uses, func(a, b wire.HostUse) bool { return a.Host == b.Host })
	if len(uses) == 0 {
		return nil
	}
	if h.Sending == nil {
		return wire.Refusal(uses...)
	}
	asked, err := h.Sending.askHosts(uses)
	if err != nil || len(asked) == 0 {
		return err
	}
	return h.RememberHosts(asked...)
}

// NeedsNoConsent reports whether Hallmark itself or the user's own configuration names a host,
// so that it may be asked without consent.
func (h *Host) NeedsNoConsent(host string) bool {
	if host == HostOfURL(OfficialRegistry) {
		return true
	}
	if s, err := CurrentSession(h); err == nil && s != nil && host == HostOfURL(s.Registry) {
		return true
	}
	return h.Fetch != nil && h.Fetch.Names(host) // last, because it may open files of other tools
}

// AllowURL consents to the host of a URL that the user named in an option or in the environment.
// It ignores text that is no URL.
func (s *Sending) AllowURL(text string) {
	if host := HostOfURL(text); host != "" {
		s.Hosts = append(s.Hosts, host)
	}
}

// askHosts asks about the hosts that have no answer yet, and returns those that a person agreed
// to now. It fails if one of them was declined, now or before.
func (s *Sending) askHosts(uses []wire.HostUse) (agreed []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := false
	uses = slices.DeleteFunc(slices.Clone(uses), func(u wire.HostUse) bool {
		yes, asked := s.hosts[u.Host]
		refused = refused || asked && !yes
		return yes || s.allowsHost(u.Host)
	})
	if len(uses) == 0 {
		return nil, nil
	}
	for _, u := range uses {
		if _, err := machine.ParseHost(u.Host); err != nil {
			return nil, wire.Refusal(u) // nobody could agree to such a name
		}
	}
	if refused || s.AskHosts == nil {
		return nil, wire.Refusal(uses...)
	}
	answer, err := s.AskHosts(uses)
	if err != nil {
		return nil, err
	}
	if s.hosts == nil {
		s.hosts = map[string]bool{}
	}
	for _, u := range uses {
		s.hosts[u.Host] = answer == InformedConsent
		agreed = append(agreed, u.Host)
	}
	if answer != InformedConsent {
		return nil, wire.Refusal(uses...)
	}
	return agreed, nil
}

// allows reports whether the command's options let a host be asked. Nil allows none.
func (s *Sending) allows(host string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.allowsHost(host)
}

// allowsHost reports whether the command's options let a host be asked: by its name, with
// every port, or as one that a variable may be sent to.
func (s *Sending) allowsHost(host string) bool {
	if slices.Contains(s.Hosts, host) ||
		slices.ContainsFunc(s.Allowed, func(v machine.Variable) bool { return v.Host == host }) {
		return true
	}
	name := host
	if u, err := url.Parse("https://" + host); err == nil && u.Port() != "" {
		name = strings.TrimSuffix(host, ":"+u.Port())
	}
	return slices.Contains(s.Hosts, name+":*")
}

// RememberHosts stores the consent to ask hosts from now on.
func (h *Host) RememberHosts(hosts ...string) error {
	return h.changeVariables(func(v *machine.Variables) error {
		for _, host := range hosts {
			if err := v.AddHost(host); err != nil {
				return err
			}
		}
		return nil
	})
}

// HostOfURL returns the host of a URL as consents name it, "" if it has none.
func HostOfURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	return wire.HostOf(u)
}

// NoAnswer returns the error of a request that got no answer, of class Operation because nothing
// was decided. A missing consent stays what it is, a refusal.
func NoAnswer(subject string, err error) error {
	if refusal := wire.NotAgreed(err); refusal != nil {
		return refusal
	}
	return evidence.Errorf(evidence.Operation, subject, client.HintUnanswered(err), err)
}
