package machine

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Variables is what a person on this machine consented to: which variables of the environment may
// be sent to which hosts, and which hosts may get requests, if a file of a checkout names them. It
// lies in the user's state directory, as variables.json, and applies to every project.
type Variables struct {
	Version int        `json:"variables_version"`
	Agreed  []Variable `json:"agreed"`          // sorted, without repetition
	Hosts   []string   `json:"hosts,omitempty"` // that may be asked; likewise
}

// Variable is one variable that may be sent to one host.
type Variable struct {
	Name string `json:"name"`
	Host string `json:"host"` // in lower case, with the port unless that is the scheme's
}

const variablesVersion = 1

// MaxVariables is the largest file of [Variables], in bytes.
const MaxVariables = 1 << 20

var variableRE = spelling.Form(`^[A-Za-z_][A-Za-z0-9_]*$`)

var hostRE = spelling.Form(`^[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?(:[0-9]{1,5})?$`)

// ParseVariable reads "NAME=HOST".
func ParseVariable(s string) (Variable, error) {
	name, host, ok := strings.Cut(s, "=")
	v := Variable{name, strings.TrimSuffix(strings.ToLower(host), ":443")}
	if !ok || v.check() != nil {
		return Variable{}, fmt.Errorf("%+q is not NAME=HOST, such as NPM_TOKEN=npm.example.com", s)
	}
	return v, nil
}

func (v Variable) check() error {
	if !variableRE().MatchString(v.Name) {
		return fmt.Errorf("%+q is no variable's name", v.Name)
	}
	return checkHost(v.Host)
}

// ParseHost reads "HOST" or "HOST:PORT"; HOST alone is its port 443.
func ParseHost(s string) (string, error) {
	host := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(s)), ":443")
	if checkHost(host) != nil {
		return "", fmt.Errorf("%+q is not HOST or HOST:PORT, such as registry.example.com", s)
	}
	return host, nil
}

func checkHost(host string) error {
	if inner, ok := strings.CutPrefix(host, "["); ok { // an address of version 6
		inner, port, found := strings.Cut(inner, "]")
		if !found || !validIP(inner) || port != "" && !hostRE().MatchString("h"+port) {
			return fmt.Errorf("%+q is no host", host)
		}
		return nil
	}
	if !hostRE().MatchString(host) {
		return fmt.Errorf("%+q is no host", host)
	}
	return nil
}

func validIP(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Zone() == ""
}

func compareVariables(a, b Variable) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Host, b.Host))
}

// ParseVariables reads the file; nil data gives an empty one.
func ParseVariables(data []byte) (*Variables, error) {
	v := &Variables{Version: variablesVersion, Agreed: []Variable{}}
	if data == nil {
		return v, nil
	}
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxVariables, Depth: 4}); err != nil {
		return nil, err
	}
	read := new(Variables)
	if err := surface.Decode(data, read); err != nil {
		return nil, err
	}
	if read.Version != variablesVersion {
		return nil, fmt.Errorf("variables_version is %d; this build reads %d", read.Version, variablesVersion)
	}
	for i, a := range read.Agreed {
		if err := a.check(); err != nil {
			return nil, err
		}
		if i > 0 && compareVariables(read.Agreed[i-1], a) >= 0 {
			return nil, errors.New("agreed is not sorted, or names something twice")
		}
	}
	for i, host := range read.Hosts {
		if err := checkHost(host); err != nil {
			return nil, err
		}
		if i > 0 && read.Hosts[i-1] >= host {
			return nil, errors.New("hosts is not sorted, or names something twice")
		}
	}
	if read.Agreed == nil {
		return nil, errors.New("agreed is missing")
	}
	return read, nil
}

// Has reports whether a person consented to exactly this use.
func (v *Variables) Has(a Variable) bool {
	_, ok := slices.BinarySearchFunc(v.Agreed, a, compareVariables)
	return ok
}

// Add adds a consent to send a variable to a host.
func (v *Variables) Add(a Variable) error {
	if err := a.check(); err != nil {
		return err
	}
	if i, ok := slices.BinarySearchFunc(v.Agreed, a, compareVariables); !ok {
		v.Agreed = slices.Insert(v.Agreed, i, a)
	}
	return nil
}

// HasHost reports whether a person consented to requests to a host, or to send a variable there.
func (v *Variables) HasHost(host string) bool {
	_, ok := slices.BinarySearch(v.Hosts, host)
	return ok || slices.ContainsFunc(v.Agreed, func(a Variable) bool { return a.Host == host })
}

// AllHosts returns the hosts with consent to requests or to a variable, sorted.
func (v *Variables) AllHosts() []string {
	all := slices.Clone(v.Hosts)
	for _, a := range v.Agreed {
		all = append(all, a.Host)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// AddHost adds a consent to requests to a host.
func (v *Variables) AddHost(host string) error {
	if err := checkHost(host); err != nil {
		return err
	}
	if i, ok := slices.BinarySearch(v.Hosts, host); !ok {
		v.Hosts = slices.Insert(v.Hosts, i, host)
	}
	return nil
}

// RemoveHost withdraws the consents to requests to a host and to variables for it, and reports
// whether there was one.
func (v *Variables) RemoveHost(host string) bool {
	had := v.HasHost(host)
	v.Hosts = slices.DeleteFunc(v.Hosts, func(h string) bool { return h == host })
	v.Agreed = slices.DeleteFunc(v.Agreed, func(a Variable) bool { return a.Host == host })
	return had
}

// Encode returns the file's JSON.
func (v *Variables) Encode() ([]byte, error) { return MarshalIndented(v) }
