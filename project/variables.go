package project

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// Variables is what a person on this machine agreed to: which variables of the environment
// may be sent to which hosts, where a file of a checkout names them. It lies in the user's
// state directory, as variables.json, and counts for every project.
type Variables struct {
	Version int        `json:"variables_version"`
	Agreed  []Variable `json:"agreed"` // sorted, without repetition
}

// Variable is one variable that may be sent to one host.
type Variable struct {
	Name string `json:"name"`
	Host string `json:"host"` // in lower case, with the port unless that is the scheme's
}

const variablesVersion = 1

// MaxVariables bounds the file, in bytes.
const MaxVariables = 1 << 20

var hostRE = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?(:[0-9]{1,5})?$`)

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
	if !variableRE.MatchString(v.Name) {
		return fmt.Errorf("%+q is no variable's name", v.Name)
	}
	host := v.Host
	if inner, ok := strings.CutPrefix(host, "["); ok { // an address of version 6
		inner, port, found := strings.Cut(inner, "]")
		if !found || !validIP(inner) || port != "" && !hostRE.MatchString("h"+port) {
			return fmt.Errorf("%+q is no host", v.Host)
		}
		return nil
	}
	if !hostRE.MatchString(host) {
		return fmt.Errorf("%+q is no host", v.Host)
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
	if err := decodeExact(data, read); err != nil {
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
	if read.Agreed == nil {
		return nil, errors.New("agreed is missing")
	}
	return read, nil
}

// Has reports whether somebody agreed to exactly that.
func (v *Variables) Has(a Variable) bool {
	_, ok := slices.BinarySearchFunc(v.Agreed, a, compareVariables)
	return ok
}

// Add adds what somebody agreed to.
func (v *Variables) Add(a Variable) error {
	if err := a.check(); err != nil {
		return err
	}
	if i, ok := slices.BinarySearchFunc(v.Agreed, a, compareVariables); !ok {
		v.Agreed = slices.Insert(v.Agreed, i, a)
	}
	return nil
}

// Encode is the file's JSON.
func (v *Variables) Encode() ([]byte, error) { return indented(v) }
