package hosttest

import (
	"encoding/json"
	"fmt"

	"github.com/gowebpki/jcs"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Seal sets the digests that a sealed file has of itself, so that nothing but its content gives away that it was
// changed: of a lock since version 3 that of each entry, else its own.
func Seal(file map[string]any) error {
	switch fmt.Sprint(file["lockfile_version"]) {
	case "<nil>", "1", "2":
		return seal(file, func(left map[string]any) any { return left })
	}
	for _, of := range []string{"facets", "servers"} {
		entries, _ := file[of].(map[string]any)
		for name, entry := range entries {
			entry, ok := entry.(map[string]any)
			if !ok {
				continue
			}
			err := seal(entry, func(left map[string]any) any {
				return map[string]any{of: map[string]any{name: left}}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// seal sets the self member of part to the digest of what it is sealed as.
func seal(part map[string]any, as func(map[string]any) any) error {
	delete(part, "self")
	plain, err := json.Marshal(as(part))
	if err != nil {
		return err
	}
	canonical, err := jcs.Transform(plain)
	part["self"] = digest.FromBytes(canonical).String()
	return err
}
