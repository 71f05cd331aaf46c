package userconfig

import (
	"strings"
	"testing"
)

func TestParsePipConf(t *testing.T) {
	for text, want := range map[string]string{
		"[global]\nindex-url = x":                          "x",
		"[global]\r\nindex-url = x\r\n":                    "x",
		"\ufeff[global]\nIndex_URL: x ":                    "x",
		"[global]\n--index-url=x":                          "x",
		"[global]\nindex-url = x ; y":                      "x ; y",
		"[global]\nindex-url = x\n# c\n; c\n  y\n":         "x\ny",
		"[global]\nindex-url =\n  x\n\n  y":                "x\ny",
		"[global]\nindex-url = x\n[global]\nindex-url = y": "y",
		"[global\nindex-url = x":                           "",
		"index-url = x":                                    "",
		"[other]\nindex-url = x":                           "",
		"[global]\nindex-url":                              "",
		"[global]\n= x\n  y":                               "",
		"  x":                                              "",
	} {
		if got := parsePipConf(text)["global"]["index-url"]; got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func FuzzPipConf(f *testing.F) {
	f.Add("[global]\nindex-url = x\n  y\n[install]\n: x")
	f.Fuzz(func(t *testing.T, text string) {
		for _, section := range parsePipConf(text) {
			for key := range section {
				if key == "" || key != strings.ToLower(key) || strings.Contains(key, "_") {
					t.Errorf("key %q", key)
				}
			}
		}
	})
}
