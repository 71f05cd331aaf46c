package wire

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// Naming says who named the host of a request.
type Naming int

// The sources of a host's name.
const (
	ByRef    Naming = iota // a Ref, and so the author of that
	ByConfig               // the configuration: the user's, unless a file of the checkout said so
	ByAnswer               // a host that may be asked, as by a redirect
)

// Named holds the hosts that a configuration names. Its zero value has none.
type Named struct {
	user     map[string]bool    // by the user's own files
	checkout map[string]HostUse // by a checkout's files
}

// Add adds the host of a URL for packages of a kind: named by the user if file is empty, else by
// that file of the checkout. If several files of a checkout name a host it keeps the first.
func (n *Named) Add(base string, kind artifact.Kind, file string) {
	host := HostOfText(strings.TrimPrefix(base, "sparse+"))
	switch _, known := n.checkout[host]; {
	case host == "" || known && file != "":
	case file == "":
		if n.user == nil {
			n.user = make(map[string]bool)
		}
		n.user[HostOfText(base)] = true
	default:
		if n.checkout == nil {
			n.checkout = make(map[string]HostUse)
		}
		n.checkout[host] = HostUse{host, file, kind}
	}
}

// Hosts decides which hosts a client may send requests to. Its zero value allows only those that
// the program or the user configured.
type Hosts struct {
	any    bool               // all: of a server
	mine   map[string]bool    // that the program, the user or the caller name
	theirs map[string]HostUse // that only the checkout's configuration names
	agreed *Agreement

	elsewhere func(host string) bool // reports what else names a host; may be nil
}

// NewHosts returns Hosts that allow those of the user's configuration, and of those that a checkout
// names the ones that agreed allows. With any they allow every host.
func NewHosts(named Named, agreed *Agreement, any bool) Hosts {
	h := Hosts{any: any, mine: make(map[string]bool), theirs: named.checkout, agreed: agreed}
	maps.Copy(h.mine, named.user)
	return h
}

// Allow allows hosts without a question; it ignores "".
func (h Hosts) Allow(hosts ...string) {
	for _, host := range hosts {
		if host != "" {
			h.mine[host] = true
		}
	}
}

// AllowConfigured is Allow for hosts of a configuration, except those that a checkout's file names.
func (h Hosts) AllowConfigured(hosts ...string) {
	for _, host := range hosts {
		if _, ok := h.theirs[host]; !ok {
			h.Allow(host)
		}
	}
}

// With returns a copy that allows more hosts without a question.
func (h Hosts) With(hosts ...string) Hosts {
	h.mine = maps.Clone(h.mine)
	h.Allow(hosts...)
	return h
}

// WithTool returns a copy that also has the hosts of the configuration of one tool.
func (h Hosts) WithTool(tool Hosts) Hosts {
	h = h.With(slices.Collect(maps.Keys(tool.mine))...)
	h.theirs = tool.theirs
	return h
}

// OrElse returns a copy that allows the hosts for which elsewhere reports true too. It is asked last,
// because to answer it may have to read files.
func (h Hosts) OrElse(elsewhere func(host string) bool) Hosts {
	h.elsewhere = elsewhere
	return h
}

// Check returns nil if u may get a request, else an error that says how to consent.
func (h Hosts) Check(u *url.URL, by Naming) error {
	host := HostOf(u)
	use, theirs := h.theirs[host]
	if by == ByAnswer || by == ByConfig && !theirs || h.Names(host) {
		return nil
	}
	return h.agreed.CheckHost(HostUse{Host: host, File: cmp.Or(use.File, ShowURL(u))})
}

// Names reports whether the program itself, the user's configuration or the caller names a host, so
// that it needs no consent.
func (h Hosts) Names(host string) bool {
	return h.any || h.mine[host] || h.elsewhere != nil && h.elsewhere(host)
}

// OfCheckout returns the hosts that only the checkout's configuration names, for packages of a
// kind, sorted.
func (h Hosts) OfCheckout(kind artifact.Kind) (uses []HostUse) {
	for _, host := range slices.Sorted(maps.Keys(h.theirs)) {
		if use := h.theirs[host]; use.Kind == kind && !h.Names(host) {
			uses = append(uses, use)
		}
	}
	return uses
}
