package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// AddArchiveFinding implements [registry.ArchiveRecords].
func (s Shared) AddArchiveFinding(ctx context.Context, f registry.Finding) error {
	switch {
	case !f.Kind.Publishes() || f.Kind == ledger.Server:
		return fmt.Errorf("finding: %+.20q is no kind of archive", f.Kind)
	case f.Version == registry.Latest || !registry.Storable(f.Name, f.Version):
		return registry.ErrNotFound
	case !registry.Storable(f.Build, string(f.Evidence)):
		return errors.New("finding: not UTF-8 without NUL")
	}
	f = f.Normal()
	return s.Alone(ctx, func(ctx context.Context, db Statements) error {
		rec, err := db.archive(ctx, f.Kind, f.Name, f.Version)
		if err != nil {
			return err
		}
		return db.AddFinding(ctx, f, rec.Findings,
			"UPDATE archives SET findings = $1 WHERE kind = $2 AND name = $3 AND version = $4",
			`INSERT INTO archive_findings (kind, name, version, found_at, build, evidence)
			VALUES ($1, $2, $3, $4, $5, $6)`, string(f.Kind), f.Name, f.Version)
	})
}

// AddFinding adds f to the findings that are shown with a record, and keeps and logs it. The update has the findings
// before the key of the record, the insertion the rest of f behind it.
func (s Statements) AddFinding(
	ctx context.Context, f registry.Finding, shown []registry.Finding, update, insert string, key ...any,
) error {
	newest := append([]registry.Finding{f}, shown...)
	text, err := json.Marshal(newest[:min(len(newest), registry.MaxFindings)])
	if err != nil {
		return err
	}
	if err := s.Exec(ctx, update, slices.Concat([]any{string(text)}, key)...); err != nil {
		return err
	}
	rest := []any{f.At.UnixMicro(), f.Build, string(f.Evidence)}
	if err := s.Exec(ctx, insert, slices.Concat(key, rest)...); err != nil {
		return err
	}
	leaf, err := f.Leaf()
	if err != nil {
		return err
	}
	_, err = s.Append(ctx, leaf)
	return err
}

// ArchiveFindings implements [registry.ArchiveRecords].
func (s Shared) ArchiveFindings(
	ctx context.Context, kind ledger.Kind, name, version string,
) ([]registry.Finding, error) {
	return s.findings(ctx, registry.Finding{Kind: kind, Name: name, Version: version},
		"archive_findings WHERE kind = $1 AND name = $2 AND version = $3", string(kind), name, version)
}

// Findings implements [registry.Findings].
func (s Shared) Findings(ctx context.Context, name, version string) ([]registry.Finding, error) {
	return s.findings(ctx, registry.Finding{Name: name, Version: version},
		"findings WHERE name = $1 AND version = $2", name, version)
}

// findings reads the findings of a version that a table has where a condition holds, newest first.
func (s Shared) findings(
	ctx context.Context, of registry.Finding, tableWhere string, args ...any,
) ([]registry.Finding, error) {
	if !registry.Storable(of.Name, of.Version) {
		return nil, nil
	}
	return reading(ctx, s, func(ctx context.Context, db Statements) ([]registry.Finding, error) {
		return All(ctx, db, func(scan Scan) (registry.Finding, error) {
			f := of
			var at int64
			err := scan(&at, &f.Build, (*[]byte)(&f.Evidence))
			f.At = time.UnixMicro(at).UTC()
			return f, err
		}, "SELECT found_at, build, evidence FROM "+tableWhere+" ORDER BY id DESC", args...)
	})
}
