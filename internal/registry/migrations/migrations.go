// Package migrations holds the steps of the schemas of databases, one numbered file a step.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed postgres sqlite
var migrations embed.FS

// Step is one numbered step of a schema.
type Step struct {
	number int
	Name   string // "0001_servers.sql"
	Text   string
}

// Read returns the steps of one engine in order. They are numbered from 1
// without gaps, so that a schema's version is the number of its last step.
func Read(engine string) ([]Step, error) {
	files, err := fs.ReadDir(migrations, engine) // sorted by name
	if err != nil {
		return nil, err
	}
	steps := make([]Step, len(files))
	for i, f := range files {
		digits, _, _ := strings.Cut(f.Name(), "_")
		n, err := strconv.Atoi(digits)
		if err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %s is not number %d", f.Name(), i+1)
		}
		text, err := fs.ReadFile(migrations, engine+"/"+f.Name())
		if err != nil {
			return nil, err
		}
		steps[i] = Step{n, f.Name(), string(text)}
	}
	return steps, nil
}

// ApplicationID marks a SQLite file as a registry's: "Hlmk" in ASCII.
const ApplicationID = 0x486c6d6b
