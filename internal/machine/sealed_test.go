package machine

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
)

// TestSeal: a file is read as it was sealed, whatever its spacing, and not with any byte changed.
func TestSeal(t *testing.T) {
	var v struct {
		Self digest.Digest `json:"self"`
		Text string        `json:"text"`
	}
	v.Text = "<a> & b"
	data, err := EncodeSealed(&v, &v.Self)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte("\n  \"text\": \"<a> & b\"\n}\n")) {
		t.Errorf("written as %s", data)
	}
	if err := CheckSeal(data, v.Self); err != nil {
		t.Error(err)
	}
	if err := CheckSeal(bytes.ReplaceAll(data, []byte("\n"), nil), v.Self); err != nil {
		t.Errorf("on one line: %v", err)
	}
	if err := CheckSeal(bytes.Replace(data, []byte("<a>"), []byte("<b>"), 1), v.Self); err == nil {
		t.Error("with another text it is read")
	}
	text := v.Self.String()
	for _, other := range []string{strings.ToUpper(text), `\u0073` + text[1:]} {
		if err := CheckSeal(bytes.Replace(data, []byte(text), []byte(other), 1), v.Self); err == nil {
			t.Errorf("with its digest as %s it is read", other)
		}
	}
	sorted := CanonicalDigest(map[string]string{"b": "1", "a": "2"})
	if sorted.String() != CanonicalDigest(struct {
		B string `json:"b"`
		A string `json:"a"`
	}{"1", "2"}).String() {
		t.Error("the order of members counts")
	}
}
