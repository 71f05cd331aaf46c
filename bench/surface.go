package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/surface"
)

// benchSurface measures P12: the canonical form and digests of a surface against decoding
// the same bytes.
func benchSurface(_ context.Context, o options, t *table) error {
	listing := surface.Listing{Instructions: "Use these tools one after the other."}
	for i := range o.tools {
		listing.Tools = append(listing.Tools, tool(i))
	}
	size := 0
	for _, raw := range listing.Tools {
		size += len(raw)
	}
	var ours, reference []float64
	for range o.rounds {
		mine, err := repeated(o.time/2, func() error {
			s, err := surface.New(listing)
			if err == nil &&
				(s.Digest().IsZero() || s.APISurface().IsZero() || len(s.ItemDigests()) != o.tools+1) {
				err = fmt.Errorf("the surface has %d items", len(s.ItemDigests()))
			}
			return err
		})
		if err != nil {
			return err
		}
		theirs, err := repeated(o.time/2, func() error {
			for _, raw := range listing.Tools {
				var v any
				if err := json.Unmarshal(raw, &v); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		ours, reference = append(ours, mine), append(reference, theirs)
	}
	t.add(fmt.Sprintf("P12 surface of %d tools, %d KiB", o.tools, size>>10), fmt.Sprintf("%.2f ms", median(ours)),
		fmt.Sprintf("encoding/json %.2f ms", median(reference)), fmt.Sprintf("%.2f×", median(ours)/median(reference)),
		"≤ 4×")
	return nil
}

// repeated runs f for d and returns the mean time of a run, in ms.
func repeated(d time.Duration, f func() error) (float64, error) {
	runtime.GC()
	began, n := time.Now(), 0
	for ; n < 3 || time.Since(began) < d; n++ {
		if err := f(); err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds() * 1e3 / float64(n), nil
}

// tool is the n-th tool, of the size that tools of real servers have.
func tool(n int) json.RawMessage {
	var properties []string
	for i := range 2 + n%6 {
		word := words[(n+i*7)%len(words)]
		properties = append(properties,
			fmt.Sprintf(`"%s_%d": {"type": "%s", "description": "The %s of the %s to look at, as the list of all %ss `+
				`names it.", "default": %d, "enum": ["%s", "%s", "all"]}`,
				word, i, []string{"string", "integer", "number"}[i%3], word, words[n%len(words)], word, i, word,
				words[(n+i)%len(words)]))
	}
	return json.RawMessage(
		fmt.Sprintf(`{"name": "%s_%d", "title": "%s %d", "description": "%s", "annotations": {"readOnlyHint": %t}, `+
			`"inputSchema": {"type": "object", "properties": {%s}, "required": ["%s_0"], "additionalProperties": `+
			`false}, "outputSchema": {"type": "object", "properties": {"items": {"type": "array", "items": {"type": `+
			`"string"}}}}}`,
			words[n%len(words)], n, words[n%len(words)], n, strings.Join(words[n%40:n%40+25], " ")+".", n%2 == 0,
			strings.Join(properties, ", "), words[n%len(words)]))
}
