package store

import (
	"io/fs"
	"os"

	"github.com/hallmark-mcp/hallmark/internal/archive"
)

// checkNames refuses a staged tree, no matter what unpacked it, that holds what a program of the
// user's would act upon: a repository of version control under any name, or empty
// directories and files that make one.
func checkNames(content *os.Root) error {
	names := archive.NewInstalledNames()
	return fs.WalkDir(content.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || path == ".":
			return err
		case d.IsDir():
			return names.AddDir(path)
		}
		return names.Add(path)
	})
}
