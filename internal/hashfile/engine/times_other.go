//go:build !linux

package engine

import (
	"time"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// timesOf returns the time of the last change in place of those of creation and reading.
func timesOf(p *place.Place) (created, accessed time.Time) { return p.Info.ModTime(), p.Info.ModTime() }
