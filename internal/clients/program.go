package clients

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// CheckProgram says why entries of clients cannot start file, this program: it is where a package runner, a build or a
// system keeps files for a while. nil if they can.
func CheckProgram(file string, getenv func(string) string) error {
	if file == "" {
		return evidence.Errorf(evidence.Operation, "hallmark",
			"on Linux, mount /proc, which tells a program its file, and run the command again",
			errors.New("this system does not say in which file this program is"))
	}
	if name := ProgramName(file); name != "hallmark" {
		return evidence.Errorf(evidence.Refused, file, "call it hallmark, and run the command again with it",
			fmt.Errorf("is called %s, and only a program called hallmark is known to guard what it starts", name))
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return evidence.Errorf(evidence.Operation, file, "", err)
	}
	for _, dir := range passingDirs(getenv) {
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(dir, real); err == nil && filepath.IsLocal(rel) {
			return evidence.Errorf(evidence.Refused, file,
				"put the program where it stays, such as ~/.local/bin, and run the command again with it",
				fmt.Errorf("is in %s, from which it may vanish, and clients could not start it then", dir))
		}
	}
	return nil
}

// passingDirs returns the directories of temporary files and of caches.
func passingDirs(getenv func(string) string) []string {
	dirs := []string{os.TempDir()}
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, cache)
	}
	for _, name := range []string{"GOCACHE", "UV_CACHE_DIR", "npm_config_cache", "BUN_INSTALL_CACHE_DIR"} {
		dirs = append(dirs, getenv(name))
	}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".npm"), filepath.Join(home, ".cache"))
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) })
}
