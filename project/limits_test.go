package project

import (
	"strings"
	"testing"
)

// TestLimits: [limits] sets what it names, within what a checkout may allow.
func TestLimits(t *testing.T) {
	for text, want := range map[string]Limits{
		"":               {},
		"max_packed = 1": {Packed: 1},
		"max_packed = 134_217_728\nmax_unpacked = 8589934592\nmax_ratio = 1100\nmax_files = 200000": {Packed: 128 << 20,
			Unpacked: 8 << 30, Ratio: 1100, Entries: 200_000},
	} {
		c, err := ParseConfig([]byte("manifest_version = 1\n[limits]\n" + text))
		if err != nil || c.Limits != want {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
	for text, want := range map[string]string{
		"max_packed = 0":                     "max_packed is 0; it is a number from 1 to 1,073,741,824",
		"max_packed = -1":                    "max_packed is -1",
		"max_packed = 1073741825":            "line 2: limits: max_packed is 1073741825",
		"max_unpacked = 9223372036854775807": "max_unpacked is 9223372036854775807",
		"max_ratio = 1101":                   "from 1 to 1,100",
		"max_files = 200001":                 "from 1 to 200,000",
		"max_packed = \"64 MiB\"":            "",
		"max_packd = 1":                      "max_packed",
		"Max_packed = 1":                     "",
		"max_packed = 99999999999999999999":  "",
		"max_packed = 1.5":                   "",
	} {
		_, err := ParseConfig([]byte("manifest_version = 1\n[limits]\n" + text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
