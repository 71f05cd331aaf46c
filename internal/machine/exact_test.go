package machine

import (
	"strings"
	"testing"
)

// TestExactFiles: each codec of a file here decodes exactly: a member whose first letter is
// another case is refused.
func TestExactFiles(t *testing.T) {
	for name, file := range map[string]struct {
		member string
		read   func([]byte) error
	}{
		"logs":         {"Logs_version", func(d []byte) error { _, err := ParseLogs(d); return err }},
		"drift":        {"Drift_version", func(d []byte) error { _, err := ParseDrift(d); return err }},
		"variables":    {"Variables_version", func(d []byte) error { _, err := ParseVariables(d); return err }},
		"receipt":      {"Self", func(d []byte) error { return DecodeSealed(d, new(Receipt)) }},
		"materialized": {"Self", func(d []byte) error { return DecodeSealed(d, new(Materialized)) }},
	} {
		err := file.read([]byte(`{"` + file.member + `": null}`))
		if err == nil || !strings.Contains(err.Error(), "case counts") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
