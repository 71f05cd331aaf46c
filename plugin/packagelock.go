package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// ParsePackageLock reads what a package-lock.json (version 2 or 3) says of the packages
// directly below node_modules.
func ParsePackageLock(data []byte) ([]ExternalClaim, error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxManifest, Depth: 32}); err != nil {
		return nil, fmt.Errorf("package-lock.json: %w", err)
	}
	var lock struct {
		Packages map[string]struct {
			Version   string `json:"version"`
			Integrity string `json:"integrity"`
		} `json:"packages"`
	}
	if err := surface.DecodeKnown(data, &lock); err != nil {
		return nil, fmt.Errorf("package-lock.json: %w", err)
	}
	var out []ExternalClaim
	for _, path := range slices.Sorted(maps.Keys(lock.Packages)) {
		name, ok := strings.CutPrefix(path, "node_modules/")
		if ok && name != "" && packageOf(name) == name {
			p := lock.Packages[path]
			out = append(out, ExternalClaim{Name: name, Version: p.Version, Integrity: p.Integrity,
				From: "package-lock.json"})
		}
	}
	return out, nil
}
