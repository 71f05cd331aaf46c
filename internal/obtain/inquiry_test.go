package obtain

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// A refusal of one facet among several says which one its command is about.
func TestInquiryNamesFacet(t *testing.T) {
	q := &inquiry{of: evidence.Entry{Facet: "kit"}}
	_, err := q.judge(evidence.Evidence{Claim: evidence.Claim{Subject: "kit@1.0.0", Scheme: evidence.FacetTar,
		Authority: evidence.Lock}, Outcome: evidence.Mismatch})
	if err == nil || !strings.Contains(err.Error(), "'hallmark upgrade kit' takes another version") {
		t.Errorf("%v", err)
	}
}
