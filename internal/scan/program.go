package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// ownProgram is this machine's hallmark, and the PATH in which clients look for it.
type ownProgram struct {
	file string // "" if it is unknown
	path string // PATH
	os   string
}

// check returns nil if command, started in dir, is this machine's own program of that name and lies
// in none of the projects, whose authors could replace it.
func (p ownProgram) check(name, command, dir string, projects ...string) error {
	own := p.file
	if own != "" && name != "hallmark" {
		own = filepath.Join(filepath.Dir(p.file), name+filepath.Ext(p.file))
	}
	if own == "" {
		return errors.New("which program is this machine's hallmark is not known here")
	}
	found, err := p.resolve(command, dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(found); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there any more; this machine's %s is %s", clients.QuoteText(found), name,
			clients.QuoteText(own))
	}
	if !host.SameFile(found, own) {
		return fmt.Errorf("%s is not this machine's %s, %s", clients.QuoteText(found), name, clients.QuoteText(own))
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		return err
	}
	for _, dir := range append(projects, dir) {
		if dir != "" && (contains(dir, found) || contains(dir, real)) {
			return fmt.Errorf("%s is a program of the project", clients.QuoteText(found))
		}
	}
	return nil
}

// resolve returns the file of command: an absolute path, or a name that PATH finds in whichever
// directory it is started.
func (p ownProgram) resolve(command, dir string) (string, error) {
	if filepath.IsAbs(command) {
		return filepath.Clean(command), nil
	}
	if strings.ContainsAny(command, `/\`) || clients.Placeholder().MatchString(command) {
		return "", fmt.Errorf("%s is a program of the directory in which its client starts it",
			clients.QuoteText(command))
	}
	places := filepath.SplitList(p.path)
	if p.os == "windows" && dir != "" {
		places = append([]string{dir}, places...) // programs there look in the directory first
	}
	for _, place := range places {
		if !filepath.IsAbs(place) {
			return "", fmt.Errorf("PATH has %s, which is another directory wherever it is used",
				clients.QuoteText(place))
		}
		if found, err := workspace.FindIn(place, command); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%s is not found in PATH", clients.QuoteText(command))
}

// contains reports whether a file lies in dir, by its name or after the links of dir.
func contains(dir, file string) bool {
	dirs := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dirs = append(dirs, real)
	}
	for _, d := range dirs {
		abs, err := filepath.Abs(d)
		if err != nil {
			return true
		}
		if host.IsBelow(abs, file) {
			return true
		}
	}
	return false
}
