package host

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/project"
)

// RequireHostConsent returns nil if hosts that files of a checkout name may be asked, else an error of
// class Refused that says how to agree; then nothing was sent. What Hallmark itself or the
// user's configuration names needs no consent. A person is asked about all at once, and what
// is agreed to is remembered for this machine.
func (h *Host) RequireHostConsent(uses ...consent.HostUse) error {
	uses = slices.DeleteFunc(slices.Clone(uses), func(u consent.HostUse) bool { return h.NeedsNoConsent(u.Host) })
	if len(uses) == 0 {
		return nil
	}
	known, err := h.readVariables()
	if err != nil {
		return err
	}
	uses = slices.DeleteFunc(uses, func(u consent.HostUse) bool { return known.HasHost(u.Host) })
	slices.SortStableFunc(uses, func(a, b consent.HostUse) int { return strings.Compare(a.Host, b.Host) })
	uses = slices.CompactFunc(uses, func(a, b consent.HostUse) bool { return a.Host == b.Host })
	if len(uses) == 0 {
		return nil
	}
	if h.Sending == nil {
		return consent.Refusal(uses...)
	}
	asked, err := h.Sending.askHosts(uses)
	if err != nil || len(asked) == 0 {
		return err
	}
	return h.RememberHosts(asked...)
}

// NeedsNoConsent reports whether a host needs no consent of this machine's: Hallmark itself or the
// user's own configuration names it.
func (h *Host) NeedsNoConsent(host string) bool {
	if h.Fetch != nil && h.Fetch.Names(host) || host == HostOfURL(OfficialRegistry) {
		return true
	}
	s, err := CurrentSession(h)
	return err == nil && s != nil && host == HostOfURL(s.Registry)
}

// AllowURL lets the host of a URL be asked, as the user named it: in an option, or in the
// environment. What is no URL is passed over.
func (s *Sending) AllowURL(text string) {
	if host := HostOfURL(text); host != "" {
		s.Hosts = append(s.Hosts, host)
	}
}

// askHosts returns the hosts that a person agreed to just now, and an error if anybody did
// not agree to one.
func (s *Sending) askHosts(uses []consent.HostUse) (agreed []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := false
	uses = slices.DeleteFunc(slices.Clone(uses), func(u consent.HostUse) bool {
		yes, asked := s.hosts[u.Host]
		refused = refused || asked && !yes
		return yes || s.allowsHost(u.Host)
	})
	if len(uses) == 0 {
		return nil, nil
	}
	for _, u := range uses {
		if _, err := project.ParseHost(u.Host); err != nil {
			return nil, consent.Refusal(u) // nobody could agree to such a name
		}
	}
	if refused || s.AskHosts == nil {
		return nil, consent.Refusal(uses...)
	}
	answer, err := s.AskHosts(uses)
	if err != nil {
		return nil, err
	}
	if s.hosts == nil {
		s.hosts = map[string]bool{}
	}
	for _, u := range uses {
		s.hosts[u.Host] = answer == Given
		agreed = append(agreed, u.Host)
	}
	if answer != Given {
		return nil, consent.Refusal(uses...)
	}
	return agreed, nil
}

// allowsHost reports whether the command's options let a host be asked: by its name, with
// every port, or as one that a variable may be sent to.
func (s *Sending) allowsHost(host string) bool {
	if slices.Contains(s.Hosts, host) || slices.ContainsFunc(s.Allowed, func(v project.Variable) bool { return v.Host == host }) {
		return true
	}
	name := host
	if u, err := url.Parse("https://" + host); err == nil && u.Port() != "" {
		name = strings.TrimSuffix(host, ":"+u.Port())
	}
	return slices.Contains(s.Hosts, name+":*")
}

// RememberHosts notes that hosts may be asked from now on.
func (h *Host) RememberHosts(hosts ...string) error {
	return h.changeVariables(func(v *project.Variables) error {
		for _, host := range hosts {
			if err := v.AddHost(host); err != nil {
				return err
			}
		}
		return nil
	})
}

// HostOfURL is the host of a URL as consent names it, "" if it has none.
func HostOfURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	return wire.HostOf(u)
}

// NoAnswer is the error of somebody who was asked and did not give what was asked for: nothing
// was decided. What a person has to agree to first stays a refusal.
func NoAnswer(subject string, err error) error {
	if refusal := consent.NotAgreed(err); refusal != nil {
		return refusal
	}
	return evidence.Errorf(evidence.Operation, subject, "", err)
}
