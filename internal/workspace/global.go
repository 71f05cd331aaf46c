package workspace

import (
	"errors"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
)

// homeOf returns the home directory for the project of the user's own clients, which is the one in the
// user's configuration directory; "" for any other.
func homeOf(h *host.Host, dir string) (string, error) {
	if h.Places.Config == "" || dir != host.RealPath(h.Places.Config) {
		return "", nil
	}
	home := host.FindHome(h.Environ)
	if home == "" || !filepath.IsAbs(home) {
		return "", evidence.Errorf(evidence.Operation, dir, "set the variable that names it",
			errors.New("the home directory, whose clients this project is for, is not known"))
	}
	return host.RealPath(home), nil
}

// PlaceDir is the directory in which clients look for the files of facets: the project's, or the home
// directory for the project of the user's own clients.
func (w *Workspace) PlaceDir() string {
	if w.Home != "" {
		return w.Home
	}
	return w.Dir
}

// Place is where a file for a client lies; path has slashes, and is relative to [Workspace.PlaceDir].
func (w *Workspace) Place(path string) string {
	return filepath.Join(w.PlaceDir(), filepath.FromSlash(path))
}
