package project

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Limits bound the contents of one facet, as [limits] sets them. A zero field is the default.
type Limits struct {
	Packed   int64 // bytes of the archive
	Unpacked int64 // bytes of what is in it
	Ratio    int64 // unpacked bytes for each packed one
	Entries  int   // files and directories
}

// MaxLimits are the furthest limits that hallmark.toml can set. It comes with a checkout: what it allows must not fill
// this machine's memory. The ratio is beyond what gzip can reach, which is no limit.
var MaxLimits = Limits{Packed: 1 << 30, Unpacked: 8 << 30, Ratio: 1100, Entries: 200_000}

// limitsTOML is the [limits] table as TOML holds it, of the contents of one facet.
type limitsTOML struct {
	Packed   *int64 `toml:"max_packed"`
	Unpacked *int64 `toml:"max_unpacked"`
	Ratio    *int64 `toml:"max_ratio"`
	Files    *int64 `toml:"max_files"`
}

// limits checks the table.
func (raw limitsTOML) limits() (l Limits, err error) {
	var files int64
	for _, c := range []struct {
		key  string
		from *int64
		to   *int64
		most int64
	}{
		{"max_packed", raw.Packed, &l.Packed, MaxLimits.Packed},
		{"max_unpacked", raw.Unpacked, &l.Unpacked, MaxLimits.Unpacked},
		{"max_ratio", raw.Ratio, &l.Ratio, MaxLimits.Ratio},
		{"max_files", raw.Files, &files, int64(MaxLimits.Entries)},
	} {
		if c.from == nil {
			continue
		}
		if *c.from < 1 || *c.from > c.most {
			return l, fmt.Errorf("%s is %d; it is a number from 1 to %s", c.key, *c.from, evidence.Group(c.most))
		}
		*c.to = *c.from
	}
	l.Entries = int(files)
	return l, nil
}
