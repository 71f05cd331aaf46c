package hashline

import (
	"errors"
	"strings"
	"testing"
)

// FuzzParseOperation reads arbitrary texts: no panic, a refusal of this package or an
// operation whose name is standard and whose parts stand in the text in their order.
func FuzzParseOperation(f *testing.F) {
	f.Add("replace 1:a3 .. 3:0e with 'x'")
	f.Add("append\nx\n")
	f.Add("delete 2:f1")
	f.Add("prepend 0: \"\"")
	f.Fuzz(func(t *testing.T, text string) {
		op, err := ParseOperation(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Code != Invalid || e.Error() == "" {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if name, err := opName(op.Op); err != nil || name != op.Op || op.EndAnchor != "" {
			t.Fatalf("%+v", op)
		}
		_, rest, ok := strings.Cut(text, op.Anchor)
		if !ok || op.Content != nil && !strings.Contains(rest, *op.Content) {
			t.Fatalf("%q is %+v with %v", text, op, op.Content)
		}
		if same, err := ParseOperation(op.Op + " " + op.Anchor + " with '" + contentOf(op) + "'"); err != nil ||
			same.Op != op.Op || same.Anchor != op.Anchor || contentOf(same) != contentOf(op) {
			t.Fatalf("%+v again is %+v, %v", op, same, err)
		}
	})
}

func contentOf(op Operation) string {
	if op.Content == nil {
		return ""
	}
	return *op.Content
}
