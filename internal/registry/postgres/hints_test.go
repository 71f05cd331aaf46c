package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

func TestGrams(t *testing.T) {
	for text, want := range map[string]int{"": 0, "ab": 0, "abc": 1, "ABCabc": 3, "aaaa": 1, "é!": 1} {
		if got := grams(text); len(got) != want {
			t.Errorf("%q has %d: %x", text, len(got), got)
		}
	}
	if got := grams("aBc"); got[0] != 0x616263 {
		t.Errorf("%x", got)
	}
}

// A search looks up those of its grams that few names have, once there are statistics.
func TestRarestGrams(t *testing.T) {
	ctx := context.Background()
	db := openPostgresTest(t)
	for i := range 24 {
		registrytest.Insert(t, db,
			registrytest.Record(t, fmt.Sprintf("io.github.o/common-server-%c%c%c", 'a'+i%26, 'b'+i%26, 'a'+i%26),
				"1.0.0", i))
	}
	text := "common-server-cdc"
	if got := db.gramCounts.rarest(grams(text)); len(got) != len(grams(text)) {
		t.Errorf("without statistics %d grams", len(got))
	}
	if _, err := db.pool.Exec(ctx, "ANALYZE names"); err != nil {
		t.Fatal(err)
	}
	if err := db.gramCounts.load(ctx, db.pool); err != nil {
		t.Fatal(err)
	}
	registrytest.Equal(t, "rarest", db.gramCounts.rarest(grams(text)), grams("r-cdc"))
	registrytest.Equal(t, "search", registrytest.All(t, db, registry.Query{Search: text}),
		[]string{"io.github.o/common-server-cdc@1.0.0"})
}

// Statistics that are not there yet are asked for again soon, those that are there are kept.
func TestGramCountsRefresh(t *testing.T) {
	db := openPostgresTest(t)
	ctx := context.Background()
	refresh := func(done func() bool) {
		t.Helper()
		db.gramCounts.due.Store(0)
		db.gramCounts.refresh(db.pool)
		hang.Until(t, "statistics are asked for", done)
	}
	in := func() time.Duration { return time.Until(time.Unix(db.gramCounts.due.Load(), 0)) }
	refresh(func() bool { return in() <= gramCountsMissing })
	if db.gramCounts.frequencies.Load() != nil {
		t.Error("statistics of nothing")
	}
	for i := range 40 {
		registrytest.Insert(t, db, registrytest.Record(t, fmt.Sprintf("io.github.o/common-%d", i), "1.0.0", i))
	}
	if _, err := db.pool.Exec(ctx, "ANALYZE names"); err != nil {
		t.Fatal(err)
	}
	refresh(func() bool { return db.gramCounts.frequencies.Load() != nil })
	if in() <= gramCountsMissing {
		t.Errorf("asked again in %s", in())
	}
	if got := (*db.gramCounts.frequencies.Load())[grams("com")[0]]; got < 0.9 {
		t.Errorf("a gram of every name is in %v of them", got)
	}
}
