package serverjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/gowebpki/jcs"

	"github.com/hallmark-mcp/hallmark/surface"
)

// maxInteger is the largest integer that RFC 8785 keeps: 2^53.
const maxInteger = "9007199254740992"

// Canonical is the RFC 8785 form of a JSON document. It refuses what that form would
// silently change, that is integers beyond ±2^53, and what parsers read differently.
func Canonical(raw []byte) ([]byte, error) {
	if err := surface.CheckJSON(raw, surface.Limits{Size: MaxSize, Depth: MaxDepth}); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if n, ok := t.(json.Number); ok {
			if err := checkNumber(n.String()); err != nil {
				return nil, err
			}
		}
	}
	return jcs.Transform(raw)
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
