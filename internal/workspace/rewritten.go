package workspace

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/surface"
)

// rewrittenName is the file, among what this machine remembers of a project, that lists the files of clients outside of
// the project whose entries were rewritten: one may have been named with --config, or by a variable of a client's.
// Without it they are found where clients are known to have them.
const rewrittenName = "client-files.json"

// maxRewritten bounds that file, in bytes.
const maxRewritten = 1 << 20

// rewrittenFiles is what the file holds.
type rewrittenFiles struct {
	Version int      `json:"client_files_version"` // 1
	Files   []string `json:"files"`                // absolute paths, sorted
}

// readRewritten returns the paths in the file called name, of which an original is kept beside the file.
func readRewritten(name string) ([]string, error) {
	data, err := host.ReadFile(name, maxRewritten)
	if err != nil || data == nil {
		return nil, err
	}
	var list rewrittenFiles
	if err := surface.Decode(data, &list); err != nil || list.Version != 1 {
		return nil, evidence.Errorf(evidence.Validation, name,
			"move it away; then name files of clients in other than the usual places with --config",
			errors.New("is damaged, or of a later version of hallmark"))
	}
	return slices.DeleteFunc(list.Files, func(path string) bool {
		_, err := os.Lstat(clients.OriginalsPath(path))
		return err != nil || !filepath.IsAbs(path)
	}), nil
}

// Rewritten returns the paths of clients' files outside of the project that this machine remembers to have rewritten
// for it.
func (w *Workspace) Rewritten() ([]string, error) {
	return readRewritten(filepath.Join(w.State, rewrittenName))
}

// RememberRewritten returns the change with which this machine remembers that entries of files were rewritten.
func (w *Workspace) RememberRewritten(files []string) ([]durable.File, error) {
	known, err := w.Rewritten()
	if err != nil {
		return nil, err
	}
	all := slices.Clone(known)
	for _, path := range files {
		if !host.IsBelow(w.Dir, path) {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); slices.Equal(all, known) {
		return nil, nil
	}
	data, err := json.Marshal(rewrittenFiles{1, all})
	if err != nil {
		return nil, err
	}
	return []durable.File{{Path: filepath.Join(w.State, rewrittenName), Data: append(data, '\n'), Perm: 0o600}}, nil
}

// RewrittenFiles returns the paths of clients' files that this machine remembers to have rewritten, for any project,
// and the errors of those lists that cannot be read.
func RewrittenFiles(h *host.Host) (out []string, failed error) {
	lists, _ := filepath.Glob(filepath.Join(h.Places.State, "projects", "*", rewrittenName))
	for _, name := range lists {
		paths, err := readRewritten(name)
		out, failed = append(out, paths...), errors.Join(failed, err)
	}
	slices.Sort(out)
	return slices.Compact(out), failed
}
