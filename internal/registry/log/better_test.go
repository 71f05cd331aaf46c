package log

import (
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/ledger"
)

func TestBetter(t *testing.T) {
	at := func(size int64, times ...int) ledger.Signed {
		s := ledger.Signed{Checkpoint: ledger.Checkpoint{Size: size}}
		for _, minute := range times {
			s.Cosignatures = append(s.Cosignatures,
				ledger.Cosignature{At: registrytest.Epoch.Add(time.Duration(minute) * time.Minute)})
		}
		return s
	}
	for _, tt := range []struct {
		a, b ledger.Signed
		want bool
	}{
		{at(1, 0), at(9), true},
		{at(2, 1), at(1, 0), true},
		{at(1, 0), at(2, 1), false},
		{at(1, 0, 0), at(2, 4), true},
		{at(2, 4), at(1, 0, 0), false},
		{at(1, 0, 0), at(2, 5), false},
		{at(2, 5), at(1, 0, 0), true},
		{at(1, 1), at(1, 0), true},
		{at(1, 0), at(1, 1), false},
	} {
		if got := better(tt.a, tt.b); got != tt.want {
			t.Errorf("%+v better than %+v: %t", tt.a, tt.b, got)
		}
	}
}
