package surface

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
)

// maxInteger is the largest integer that RFC 8785 keeps: 2^53.
const maxInteger = "9007199254740992"

// CheckNumbers reports whether RFC 8785 keeps every number of a JSON document: it
// rounds integers beyond ±2^53 without a word, so that two documents would have one
// canonical form.
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
			if err := checkNumber(n.String()); err != nil {
				return err
			}
		}
	}
}

// checkNumber needs no exact arithmetic: every double from 2^53 on is an integer, and
// of the texts that round to 2^53 only one is taken.
func checkNumber(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("number %.40s is beyond the range of a double", s)
	}
	if math.Abs(f) >= 1<<53 && s != maxInteger && s != "-"+maxInteger {
		return fmt.Errorf("number %.40s is beyond ±2^53 and would be rounded", s)
	}
	return nil
}
