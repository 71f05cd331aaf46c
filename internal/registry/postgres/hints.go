package postgres

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// The hints of this file make searches fast and never change their results: a wrong hint only
// costs time, so that each process may have its own.

// hints is a bounded set of texts.
type hints struct {
	mu  sync.Mutex
	set map[string]bool
}

// maxHints is the most texts kept; at one more all are forgotten.
const maxHints = 4096

func (h *hints) has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.set[text]
}

func (h *hints) add(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.set == nil || len(h.set) >= maxHints {
		h.set = map[string]bool{}
	}
	h.set[text] = true
}

// gramCounts knows how many names have a gram, from the statistics that PostgreSQL gathers. In
// a million names the index lists a hundred thousand for a common gram; a search that has a
// rare gram too need not read that list.
type gramCounts struct {
	frequencies atomic.Pointer[map[int32]float32] // part of the names; common grams only
	due         atomic.Int64                      // when to ask again, Unix seconds
}

const (
	gramCountsAge = 5 * time.Minute
	// gramCountsMissing is how soon to ask again when there are none, as after an import
	// until the database has looked at it. Without them a rare search in a million records
	// reads some thirty times as much.
	gramCountsMissing = 10 * time.Second
	// searchGrams is how many grams a search looks up. Names that have three rare ones
	// are few enough to be looked at one by one.
	searchGrams = 3
)

// rarest returns the grams to look up for a text that has all of them.
func (g *gramCounts) rarest(grams []int32) []int32 {
	frequencies := g.frequencies.Load()
	if frequencies == nil || len(grams) <= searchGrams {
		return grams
	}
	sorted := slices.Clone(grams)
	slices.SortStableFunc(sorted, func(a, b int32) int { return cmp.Compare((*frequencies)[a], (*frequencies)[b]) })
	return sorted[:searchGrams]
}

// refresh asks for the statistics if they are old, without waiting for the answer.
func (g *gramCounts) refresh(pool *pgxpool.Pool) {
	now := time.Now()
	due := g.due.Load()
	if now.Unix() < due || !g.due.CompareAndSwap(due, now.Add(gramCountsAge).Unix()) {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if g.load(ctx, pool) != nil { // try again soon
			g.due.Store(time.Now().Add(gramCountsMissing).Unix())
		}
	}()
}

func (g *gramCounts) load(ctx context.Context, pool *pgxpool.Pool) error {
	var grams []int32
	var parts []float32
	err := pool.QueryRow(ctx, `SELECT most_common_elems::text::integer[], most_common_elem_freqs FROM pg_stats
		WHERE schemaname = current_schema() AND tablename = 'names' AND attname = 'grams'
			AND most_common_elems IS NOT NULL`).Scan(&grams, &parts)
	if err != nil {
		return err
	}
	frequencies := make(map[int32]float32, len(grams))
	for i, gram := range grams[:min(len(grams), len(parts))] { // three other figures follow
		frequencies[gram] = parts[i]
	}
	g.frequencies.Store(&frequencies)
	return nil
}
