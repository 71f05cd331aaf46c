package spelling

import "testing"

func TestForm(t *testing.T) {
	re := Form(`^a+$`)
	if first, again := re(), re(); first != again || !first.MatchString("aa") || first.MatchString("ab") {
		t.Error("is not the expression, or compiled twice")
	}
	broken := Form(`(`)
	defer func() {
		if recover() == nil {
			t.Error("took what is no expression")
		}
	}()
	broken()
}
