package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/ledger"
)

// addFinding is AddArchiveFinding within its transaction.
func (s archiveSQL) addFinding(ctx context.Context, f Finding) error {
	rec, err := s.get(ctx, f.Kind, f.Name, f.Version)
	if err != nil {
		return err
	}
	newest := append([]Finding{f}, rec.Findings...)
	shown, err := json.Marshal(newest[:min(len(newest), MaxFindings)])
	if err != nil {
		return err
	}
	if err := s.exec(ctx, "UPDATE archives SET findings = $1 WHERE kind = $2 AND name = $3 AND version = $4",
		string(shown), string(f.Kind), f.Name, f.Version); err != nil {
		return err
	}
	if err := s.exec(ctx, "INSERT INTO archive_findings (kind, name, version, found_at, build, evidence) VALUES ($1, $2, $3, $4, $5, $6)",
		string(f.Kind), f.Name, f.Version, f.At.UnixMicro(), f.Build, string(f.Evidence)); err != nil {
		return err
	}
	leaf, err := f.leaf()
	if err != nil {
		return err
	}
	_, err = s.append(ctx, leaf)
	return err
}

// archiveFinding is the part of AddArchiveFinding before its transaction.
func archiveFinding(f Finding) (Finding, error) {
	switch {
	case !f.Kind.Publishes() || f.Kind == ledger.Server:
		return f, fmt.Errorf("finding: %+.20q is no kind of archive", f.Kind)
	case f.Version == Latest || !storable(f.Name, f.Version):
		return f, ErrNotFound
	case !storable(f.Build, string(f.Evidence)):
		return f, errors.New("finding: not UTF-8 without NUL")
	}
	return f.normal(), nil
}

func (s archiveSQL) findings(ctx context.Context, kind ledger.Kind, name, version string) (found []Finding, err error) {
	if !storable(name, version) {
		return nil, nil
	}
	err = s.query(ctx, "SELECT found_at, build, evidence FROM archive_findings WHERE kind = $1 AND name = $2 AND version = $3 ORDER BY id DESC",
		[]any{string(kind), name, version}, func(scan func(...any) error) (bool, error) {
			f := Finding{Kind: kind, Name: name, Version: version}
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

// AddArchiveFinding implements [ArchiveRecords].
func (s *SQLite) AddArchiveFinding(ctx context.Context, f Finding) error {
	f, err := archiveFinding(f)
	if err != nil {
		return err
	}
	return s.archivesAlone(ctx, func(db archiveSQL) error { return db.addFinding(ctx, f) })
}

// ArchiveFindings implements [ArchiveRecords].
func (s *SQLite) ArchiveFindings(ctx context.Context, kind ledger.Kind, name, version string) ([]Finding, error) {
	return sqliteArchives(s.read).findings(ctx, kind, name, version)
}

// AddArchiveFinding implements [ArchiveRecords].
func (p *Postgres) AddArchiveFinding(ctx context.Context, f Finding) error {
	f, err := archiveFinding(f)
	if err != nil {
		return err
	}
	return p.archivesAlone(ctx, func(db archiveSQL) error { return db.addFinding(ctx, f) })
}

// ArchiveFindings implements [ArchiveRecords].
func (p *Postgres) ArchiveFindings(ctx context.Context, kind ledger.Kind, name, version string) (found []Finding, err error) {
	err = p.read(ctx, func(ctx context.Context) error {
		found, err = postgresArchives(p.pool).findings(ctx, kind, name, version)
		return err
	})
	return found, err
}
