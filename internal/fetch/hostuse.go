package fetch

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	ociname "github.com/google/go-containerregistry/pkg/name"
	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// HostUse is a host that a file of a checkout wants asked. It is not asked, and its name is
// not looked up, before a person agreed to that.
type HostUse struct {
	Host string        // as HostOf has it
	File string        // what names it, for messages: "hallmark.toml, [registry] url"
	kind artifact.Kind // of the packages that come from there; may be empty
}

// Refusal is the error of hosts that nobody agreed to have asked; there is at least one.
// Nothing was sent.
func Refusal(uses ...HostUse) error {
	var options, names []string
	for i, u := range uses {
		name := plain(u.Host, 255)
		options = append(options, "--allow-host "+name)
		if i > 0 && u.File != uses[0].File {
			name += " (" + plain(u.File, 300) + ")"
		}
		names = append(names, name)
	}
	return evidence.Errorf(evidence.Refused, plain(uses[0].File, 300), "if that may be asked: "+strings.Join(options, " "),
		fmt.Errorf("wants %s asked, and %w", strings.Join(names, ", "), errNotAgreed))
}

// HostOf is the host that a URL names, in lower case, with the port unless that is 443.
func HostOf(u *url.URL) string {
	usual := map[string]string{"http": "80", "ssh": "22"}[u.Scheme]
	if usual == "" || u.Port() != "" {
		return hostPort(u)
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), usual)
}

// naming is who named the host of a request.
type naming int

const (
	byRef    naming = iota // a Ref, and so whoever wrote that
	byConfig               // the configuration: the user's, unless a file of the checkout said so
	byAnswer               // a host that may be asked, as by a redirect
)

// hosts decides which hosts a client asks. Its zero value lets nothing be asked but what the
// program or the user configured.
type hosts struct {
	any    bool               // all: of a server
	mine   map[string]bool    // that we, the user or the caller name
	theirs map[string]HostUse // that only the checkout's configuration names
	agreed *Agreement
}

// ourHosts are those that Hallmark itself names: where ecosystems keep their packages.
func ourHosts() map[string]bool {
	mine := map[string]bool{ociname.DefaultRegistry: true}
	for _, base := range []string{model.RegistryURLNPM, model.RegistryURLPyPI, model.RegistryURLNuGet, model.RegistryURLCrates, model.RegistryURLGitHub,
		model.RegistryURLGitLab, model.RegistryURLQuay, GitHubConfig{}.api(), CargoConfig{}.index()} {
		mine[hostOfText(base)] = true
	}
	return mine
}

// hostOfText is HostOf, "" for what is no URL with a host.
func hostOfText(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return ""
	}
	return HostOf(u)
}

// hostsOf are those of a configuration.
func hostsOf(config Config) hosts {
	h := hosts{any: config.AnyHost, mine: ourHosts(), theirs: config.theirs, agreed: config.Agreement}
	for _, base := range config.named {
		h.mine[hostOfText(base)] = true
	}
	configured := append(slices.Clone(config.PyPI.Indexes), config.PyPI.Base, config.NuGet.Index, config.Cargo.Index, config.GitHub.base(), config.GitHub.api())
	if config.NPM.Setting != nil {
		configured = append(configured, config.NPM.Setting("registry"))
	}
	for _, base := range configured {
		if host := hostOfText(strings.TrimPrefix(base, "sparse+")); host != "" {
			if _, ok := h.theirs[host]; !ok {
				h.mine[host] = true
			}
		}
	}
	for _, k := range config.Credentials {
		h.mine[k.hostPort()] = true
	}
	return h
}

// ask returns nil if u may be asked, else an error that says how to agree.
func (h hosts) ask(u *url.URL, by naming) error {
	host := HostOf(u)
	use, theirs := h.theirs[host]
	if by == byAnswer || h.any || h.mine[host] || by == byConfig && !theirs {
		return nil
	}
	return h.agreed.askHost(HostUse{Host: host, File: cmp.Or(use.File, show(u))})
}

// askHost returns nil if a person agreed that the host is asked.
func (a *Agreement) askHost(u HostUse) error {
	if a != nil && a.AskHost != nil {
		return a.AskHost(u)
	}
	return Refusal(u)
}

// Names reports whether Hallmark itself, the user's configuration or c's caller names a
// host, so that nobody need be asked about it.
func (c *Client) Names(host string) bool { return c.hosts.any || c.hosts.mine[host] }

// Theirs are the hosts that nobody but the checkout's configuration names and that packages
// of a kind may be asked of, or by, sorted.
func (c *Client) Theirs(kind artifact.Kind) (uses []HostUse) {
	for _, host := range slices.Sorted(maps.Keys(c.hosts.theirs)) {
		if use := c.hosts.theirs[host]; use.kind == kind && !c.hosts.mine[host] {
			uses = append(uses, use)
		}
	}
	return uses
}

// Asking is c for a caller who names these Refs: their hosts are asked without a question.
func (c *Client) Asking(refs ...artifact.Ref) *Client {
	view := *c
	view.hosts.mine = maps.Clone(c.hosts.mine)
	for _, ref := range refs {
		if host := refHost(ref); host != "" {
			view.hosts.mine[host] = true
		}
	}
	return &view
}

// refHost is the host that a Ref itself names, "" if it names none.
func refHost(ref artifact.Ref) string {
	switch ref.Kind() {
	case artifact.OCI:
		if repo, err := parseRepository(ref); err == nil {
			return HostOf(repo.base)
		}
	case artifact.HTTPS:
		return hostOfText(ref.URL())
	}
	return ""
}

// RepositoryHost is the host that a repository "host/name" of images is at.
func RepositoryHost(repository string) string {
	repo, err := ociname.NewRepository(repository)
	if err != nil {
		return ""
	}
	return hostPort(&url.URL{Host: repo.RegistryStr()})
}

// addHost notes what a configuration names: the user's if file is empty, else a file of the
// checkout.
func (c *Config) addHost(base string, kind artifact.Kind, file string) {
	host := hostOfText(strings.TrimPrefix(base, "sparse+"))
	switch _, known := c.theirs[host]; {
	case host == "" || known && file != "":
	case file == "":
		c.named = append(c.named, base)
	default:
		c.theirs[host] = HostUse{host, file, kind}
	}
}
