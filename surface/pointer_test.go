package surface

import "testing"

func TestPointerToken(t *testing.T) {
	for name, want := range map[string]string{"": "", "a": "a", "a/b": "a~1b", "a~b": "a~0b", "~1": "~01", "/~": "~1~0",
		"é ": "é "} {
		if got := PointerToken(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
