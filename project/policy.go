package project

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// Policy is the [policy] table.
type Policy struct {
	// MinAge is how long a version must have been public before it is taken: what was published to harm is often found
	// and taken back within days. 0: no time.
	MinAge time.Duration
	// Advisories is where databases of advisories are: a directory, relative to the project or absolute, or a URL. "":
	// none is asked.
	Advisories string
}

// AdvisoriesURL is the URL that advisories are got from, without a slash at its end; "" if they are in a directory, or
// nowhere.
func (p Policy) AdvisoriesURL() string {
	if !strings.Contains(p.Advisories, "://") {
		return ""
	}
	return strings.TrimRight(p.Advisories, "/")
}

// policyTOML is the table as TOML holds it.
type policyTOML struct {
	MinAge     string `toml:"min_age"`
	Advisories string `toml:"advisories"`
}

// policy checks the table.
func (raw policyTOML) policy() (p Policy, err error) {
	if raw.MinAge != "" {
		if p.MinAge, err = parseAge(raw.MinAge); err != nil {
			return p, err
		}
	}
	p.Advisories = raw.Advisories
	if err := checkAdvisories(p); err != nil {
		return p, fmt.Errorf("advisories: %w", err)
	}
	return p, nil
}

// checkAdvisories says why no advisories can be read from a place.
func checkAdvisories(p Policy) error {
	if strings.ContainsFunc(p.Advisories, unicode.IsControl) {
		return errors.New("has control characters")
	}
	if len(p.Advisories) > maxURL {
		return fmt.Errorf("longer than %d bytes", maxURL)
	}
	if p.AdvisoriesURL() == "" {
		return nil
	}
	u, err := url.Parse(p.Advisories)
	switch {
	case err != nil || u.Hostname() == "" || strings.ContainsAny(p.Advisories, "?#"):
		return errors.New("is no URL of a directory such as https://osv.example.com")
	case u.User != nil:
		return errors.New("a user name or password does not belong into it")
	case u.Scheme == "http" && !artifact.IsLoopback(u.Hostname()):
		return errors.New("plain http is for this machine only")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("the scheme %+q is not https", u.Scheme)
	}
	return nil
}

// parseAge reads a whole number of hours, days or weeks, such as "3d". time.ParseDuration knows no days.
func parseAge(text string) (time.Duration, error) {
	const most = 10 * 365 * 24 // hours
	units := map[byte]int{'h': 1, 'd': 24, 'w': 7 * 24}
	end := len(text) - 1
	n, err := strconv.ParseUint(text[:end], 10, 16)
	hours := int(n) * units[text[end]]
	if err != nil || hours == 0 || hours > most {
		return 0, fmt.Errorf("min_age is %q; it is a number of hours, days or weeks such as \"3d\"", text)
	}
	return time.Duration(hours) * time.Hour, nil
}
