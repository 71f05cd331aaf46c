package sqldb

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed migrations
var migrationFiles embed.FS

// Migration is one numbered step of a schema.
type Migration struct {
	number int
	Name   string // "0001_servers.sql"
	Text   string
}

// ReadMigrations returns the steps of one engine in order. They are numbered from 1
// without gaps, so that a schema's version is the number of its last step.
func ReadMigrations(engine string) ([]Migration, error) {
	files, err := fs.ReadDir(migrationFiles, "migrations/"+engine) // sorted by name
	if err != nil {
		return nil, err
	}
	steps := make([]Migration, len(files))
	for i, f := range files {
		digits, _, _ := strings.Cut(f.Name(), "_")
		n, err := strconv.Atoi(digits)
		if err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %s is not number %d", f.Name(), i+1)
		}
		text, err := fs.ReadFile(migrationFiles, "migrations/"+engine+"/"+f.Name())
		if err != nil {
			return nil, err
		}
		steps[i] = Migration{n, f.Name(), string(text)}
	}
	return steps, nil
}

// ApplicationID marks a SQLite file as a registry's: "Hlmk" in ASCII.
const ApplicationID = 0x486c6d6b
