package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// AddFinding is AddArchiveFinding within its transaction.
func (s Archives) AddFinding(ctx context.Context, f registry.Finding) error {
	rec, err := s.Get(ctx, f.Kind, f.Name, f.Version)
	if err != nil {
		return err
	}
	newest := append([]registry.Finding{f}, rec.Findings...)
	shown, err := json.Marshal(newest[:min(len(newest), registry.MaxFindings)])
	if err != nil {
		return err
	}
	if err := s.Exec(ctx, "UPDATE archives SET findings = $1 WHERE kind = $2 AND name = $3 AND version = $4",
		string(shown), string(f.Kind), f.Name, f.Version); err != nil {
		return err
	}
	if err := s.Exec(ctx,
		"INSERT INTO archive_findings (kind, name, version, found_at, build, evidence) VALUES ($1, $2, $3, $4, $5, $6)",
		string(f.Kind), f.Name, f.Version, f.At.UnixMicro(), f.Build, string(f.Evidence)); err != nil {
		return err
	}
	leaf, err := f.Leaf()
	if err != nil {
		return err
	}
	_, err = s.Append(ctx, leaf)
	return err
}

// ArchiveFinding is the part of AddArchiveFinding before its transaction.
func ArchiveFinding(f registry.Finding) (registry.Finding, error) {
	switch {
	case !f.Kind.Publishes() || f.Kind == ledger.Server:
		return f, fmt.Errorf("finding: %+.20q is no kind of archive", f.Kind)
	case f.Version == registry.Latest || !registry.Storable(f.Name, f.Version):
		return f, registry.ErrNotFound
	case !registry.Storable(f.Build, string(f.Evidence)):
		return f, errors.New("finding: not UTF-8 without NUL")
	}
	return f.Normal(), nil
}

// Findings are all findings of a version, newest first.
func (s Archives) Findings(
	ctx context.Context, kind ledger.Kind, name, version string,
) (found []registry.Finding, err error) {
	if !registry.Storable(name, version) {
		return nil, nil
	}
	err = s.Query(ctx,
		"SELECT found_at, build, evidence FROM archive_findings WHERE kind = $1 AND name = $2 AND version = $3 ORDER "+
			"BY id DESC",
		[]any{string(kind), name, version}, func(scan func(...any) error) (bool, error) {
			f := registry.Finding{Kind: kind, Name: name, Version: version}
			var at int64
			var evidence string
			if err := scan(&at, &f.Build, &evidence); err != nil {
				return false, err
			}
			f.At, f.Evidence = time.UnixMicro(at).UTC(), json.RawMessage(evidence)
			found = append(found, f)
			return true, nil
		})
	return found, err
}
