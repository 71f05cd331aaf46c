package clients

import (
	"path/filepath"
	"slices"
	"strings"
)

// ownDirs returns the names of the directories in which clients keep their files, in a project or in the
// user's home: ".cursor". Only names with a dot count: others may be directories of the project.
func ownDirs() []string {
	out := []string{".claude", ".agents", ".windsurf"} // they hold skills and settings, which start no server
	for _, c := range table {
		for _, l := range c.servers {
			if first, _, below := strings.Cut(strings.ToLower(l.path), "/"); below && strings.HasPrefix(first, ".") &&
				!slices.Contains(out, first) {
				out = append(out, first)
			}
		}
	}
	return out
}

// OwnerDir returns the directory of the project that dir belongs to: the one that holds the client's
// directory in which dir lies, or dir itself if it lies in none. A directory inside of a client's
// directory is not a project, except a checkout that Claude Code made in .claude/worktrees. Elements of
// within, the directory that is scanned, do not count as a client's directory.
func OwnerDir(within, dir string) string {
	rel, err := filepath.Rel(within, dir)
	above := within
	if err != nil || !filepath.IsLocal(rel) {
		above = filepath.VolumeName(dir) + string(filepath.Separator)
		rel = strings.TrimPrefix(dir, above)
	}
	clientDirs, elements := ownDirs(), strings.Split(rel, string(filepath.Separator))
	for i := 0; i < len(elements); i++ {
		name := strings.ToLower(elements[i])
		switch {
		case name == ".claude" && len(elements) > i+2 && strings.EqualFold(elements[i+1], "worktrees"):
			i += 2
		case slices.Contains(clientDirs, name):
			return filepath.Join(above, filepath.Join(elements[:i]...))
		}
	}
	return dir
}
