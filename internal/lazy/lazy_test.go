package lazy

import "testing"

func TestRegexp(t *testing.T) {
	re := Regexp(`^a+$`)
	if re() != re() || !re().MatchString("aa") || re().MatchString("ab") {
		t.Error("is not the expression, or compiled twice")
	}
	broken := Regexp(`(`)
	defer func() {
		if recover() == nil {
			t.Error("took what is no expression")
		}
	}()
	broken()
}
