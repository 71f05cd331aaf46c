package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// AddFinding implements [registry.Findings].
func (s *DB) AddFinding(ctx context.Context, f registry.Finding) error {
	f = f.Normal()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	rec, err := scan(
		tx.QueryRowContext(ctx, "SELECT "+columns+" FROM servers WHERE name = ? AND version = ?", f.Name, f.Version))
	if err != nil {
		return err
	}
	newest := append([]registry.Finding{f}, rec.Findings...)
	shown, err := json.Marshal(newest[:min(len(newest), registry.MaxFindings)])
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE servers SET findings = ? WHERE name = ? AND version = ?", string(shown),
		f.Name, f.Version); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx,
		"INSERT INTO findings (name, version, found_at, build, evidence) VALUES (?, ?, ?, ?, ?)",
		f.Name, f.Version, f.At.UnixMicro(), f.Build, string(f.Evidence)); err != nil {
		return err
	}
	leaf, err := f.Leaf()
	if err != nil {
		return err
	}
	if _, err := appendLog(ctx, tx, leaf); err != nil {
		return err
	}
	return tx.Commit()
}

// Findings implements [registry.Findings].
func (s *DB) Findings(ctx context.Context, name, version string) ([]registry.Finding, error) {
	rows, err := s.read.QueryContext(ctx,
		"SELECT found_at, build, evidence FROM findings WHERE name = ? AND version = ? ORDER BY id DESC", name, version)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []registry.Finding
	for rows.Next() {
		f := registry.Finding{Name: name, Version: version}
		var at int64
		var evidence string
		if err := rows.Scan(&at, &f.Build, &evidence); err != nil {
			return nil, err
		}
		f.At, f.Evidence = time.UnixMicro(at).UTC(), []byte(evidence)
		found = append(found, f)
	}
	return found, rows.Err()
}
