package registry_test

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

// A record is not admitted on the word of a digest that was computed of other bytes.
func TestAdmitOtherBytes(t *testing.T) {
	rec := registrytest.Record(t, "io.github.o/a", "1.0.0", 0)
	other := registrytest.Record(t, "io.github.o/a", "1.0.1", 0) // as long
	rec = rec.WithDigest(rec.Digest)
	if err := registry.Admit(registrytest.Admission(rec), rec); err != nil {
		t.Error(err)
	}
	rec.Document = other.Document
	if err := registry.Admit(registrytest.Admission(rec), rec); err == nil ||
		!strings.Contains(err.Error(), "not that of its document") {
		t.Errorf("other bytes: %v", err)
	}
}
