package surface

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// maxInteger is 2^53, up to which a double holds every integer and RFC 8785 keeps it.
const maxInteger = "9007199254740992"

// Canonical is the RFC 8785 form of a JSON document. If it is an object, the members named in
// without are left out. Canonical refuses what [CheckJSON] and [CheckNumbers] refuse: what
// parsers read differently, and what that form would silently change. It is not the form of a
// surface, which keeps large integers.
func Canonical(data []byte, limits Limits, without ...string) ([]byte, error) {
	v, err := parse(data, limits, modeExact)
	if err != nil {
		return nil, err
	}
	v.members = slices.DeleteFunc(v.members, func(m member) bool { return slices.Contains(without, m.name) })
	return v.canonical(), nil
}

// CheckNumbers returns an error if RFC 8785 does not keep every number of a JSON document.
// That form rounds integers beyond ±2^53, so that two documents would have one canonical
// form.
func CheckNumbers(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n, ok := t.(json.Number); ok {
			if _, err := checkNumber(n.String()); err != nil {
				return err
			}
		}
	}
}

// checkNumber returns the value of a number that RFC 8785 keeps. It needs no exact
// arithmetic: every double from 2^53 on is an integer, and of the texts that round to 2^53
// only one is accepted.
func checkNumber(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("number %.40s is beyond the range of a double", s)
	}
	if math.Abs(f) >= 1<<53 && s != maxInteger && s != "-"+maxInteger {
		return 0, fmt.Errorf("number %.40s is beyond ±2^53 and would be rounded", s)
	}
	return f, nil
}
