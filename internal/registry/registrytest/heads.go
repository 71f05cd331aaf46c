package registrytest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// TestHeads is the conformance suite of [registry.Heads].
func TestHeads(t *testing.T, h registry.Heads) {
	ctx := context.Background()
	if note, tag, err := h.Load(ctx); note != nil || tag != "" || err != nil {
		t.Fatalf("%q %q %v", note, tag, err)
	}
	if _, err := h.Swap(ctx, "x", []byte("a")); !errors.Is(err, registry.ErrMoved) {
		t.Errorf("swapped what is not there: %v", err)
	}
	tag, err := h.Swap(ctx, "", []byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Swap(ctx, "", []byte("b")); !errors.Is(err, registry.ErrMoved) {
		t.Errorf("swapped nothing for what is there: %v", err)
	}
	if note, got, err := h.Load(ctx); string(note) != "a" || got != tag || err != nil {
		t.Fatalf("%q %q %v", note, got, err)
	}
	var won int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := h.Swap(ctx, tag, fmt.Appendf(nil, "c%d", i))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, registry.ErrMoved) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d swaps of one tag", won)
	}
}
