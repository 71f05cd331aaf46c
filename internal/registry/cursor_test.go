package registry

import "testing"

func FuzzCursor(f *testing.F) {
	f.Add(Cursor{"io.example/a", "1.0.0"}.String())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCursor(text)
		if err != nil || text == "" {
			return
		}
		if c.String() != text {
			t.Errorf("%q is written as %q", text, c.String())
		}
	})
}
