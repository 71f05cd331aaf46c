package project

import (
	"fmt"
	"strconv"
	"time"
)

// Policy is the [policy] table.
type Policy struct {
	// MinAge is how long a version must have been public before it is taken: what was published to harm is often found
	// and taken back within days. 0: no time.
	MinAge time.Duration
}

// policyTOML is the table as TOML holds it.
type policyTOML struct {
	MinAge string `toml:"min_age"`
}

// policy checks the table.
func (raw policyTOML) policy() (p Policy, err error) {
	if raw.MinAge != "" {
		p.MinAge, err = parseAge(raw.MinAge)
	}
	return p, err
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
