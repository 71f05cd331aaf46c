package pin

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// Migration is the result of [MigrateConfig].
type Migration struct {
	Servers []string `json:"servers"` // whose checksum became a verify block
	Kept    []string `json:"kept"`    // whose checksum is ignored, for a person to remove
	// LauncherOnly says of those of Servers whose block hashes a launcher alone what pins the rest.
	LauncherOnly map[string]string `json:"launcher_only,omitempty"`
}

// MigrateConfig rewrites the deprecated keys of hallmark.toml in dir, and keeps everything else. It
// does not write a file that has none.
func MigrateConfig(_ context.Context, dir string) (*Migration, error) {
	m := &Migration{Servers: []string{}, Kept: []string{}}
	name := filepath.Join(dir, project.ConfigFile)
	data, err := readConfig(name)
	if err != nil {
		return nil, err
	}
	text, migrated, kept, err := workspace.MigrateConfig(data)
	if err != nil {
		return nil, err
	}
	m.Servers, m.Kept = append(m.Servers, migrated...), append(m.Kept, kept...)
	after, err := project.ParseConfig(text)
	if err != nil {
		return nil, err
	}
	for _, name := range migrated {
		if why := after.Servers[name].LauncherOnly(); why != "" {
			if m.LauncherOnly == nil {
				m.LauncherOnly = map[string]string{}
			}
			m.LauncherOnly[name] = why
		}
	}
	if len(migrated) == 0 {
		return m, nil
	}
	return m, clients.Replace(name, func(data []byte) ([]byte, error) {
		out, _, _, err := workspace.MigrateConfig(data)
		return out, err
	})
}

// readConfig reads a hallmark.toml, which must exist.
func readConfig(name string) ([]byte, error) {
	data, err := workspace.ReadPlain(name, project.MaxConfig)
	if err == nil && data == nil {
		err = evidence.Errorf(evidence.Validation, name, "name the project's directory with --project",
			errors.New("there is no such file"))
	}
	return data, err
}
