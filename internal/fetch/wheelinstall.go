package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// InstallerNotes are the files of a .dist-info directory that differ between two installations
// of the same wheel.
var InstallerNotes = []string{"INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json", "uv_build.json"}

// installWidth is how many wheels are unpacked at once.
const installWidth = 4

// InstallWheels writes the files of wheels below dir, an empty directory, where uv installs them with --target, and
// compares each with its RECORD once more. It leaves out what differs between machines: notes about the installation,
// and scripts that begin with the path of an interpreter. No code of the wheels runs. What several wheels have for one
// path is decided as spec/wheel.md says, and returned; wheels that cannot be installed together are refused.
func InstallWheels(ctx context.Context, wheels []*Wheel, root artifact.Ref, dir string) ([]SharedFile, error) {
	by, shared, err := findShared(wheels, root)
	if err != nil {
		return nil, err
	}
	at, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(installWidth)
	for _, w := range wheels {
		group.Go(func() error {
			if err := w.install(ctx, at, func(key string) bool { return by[key] == w }); err != nil {
				return evidence.Errorf(evidence.ClassOf(err), w.ref.String(), "", fmt.Errorf("unpack: %w", err))
			}
			return nil
		})
	}
	return shared, group.Wait()
}

// install writes the files of w whose keys are its own below dir.
func (w *Wheel) install(ctx context.Context, dir *os.Root, own func(key string) bool) error {
	f, err := os.Open(w.file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := openZip(f, maxWheelList)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(w.files)) {
		file := w.files[key]
		if file.path == "" || !own(key) || isNote(file.place) {
			continue
		}
		if err := errors.Join(ctx.Err(), z.installFile(file, dir)); err != nil {
			return fmt.Errorf("%s: %w", wire.Quoted(file.path), err)
		}
	}
	return nil
}

// isNote reports whether a path belongs to a note about the installation.
func isNote(place string) bool {
	top, base := path.Split(place)
	return place == ".lock" || strings.Count(place, "/") == 1 && strings.HasSuffix(top, infoSuffix+"/") &&
		slices.Contains(InstallerNotes, base)
}

// isProgram reports whether a path is one at which installers write a program: "#!" there is followed by the path of
// an interpreter of the machine, and on Windows each is an executable with such a path.
func isProgram(place string) bool {
	top, _ := path.Split(place)
	return top == "bin/" || top == "Scripts/"
}

// installFile writes a file of the zip below dir, unless it is a script among the programs.
func (z *zipFile) installFile(file wheelFile, dir *os.Root) error {
	program := isProgram(file.place)
	if program && runtime.GOOS == "windows" {
		return nil
	}
	in, err := z.open(file.path)
	if err != nil {
		return err
	}
	defer in.Close()
	var content io.Reader = in
	if file.sum != "" {
		sum, err := digest.Parse(file.sum)
		if err != nil {
			return err
		}
		content = digest.NewVerifier(in, sum, -1)
	}
	if program {
		head := make([]byte, 2)
		n, err := io.ReadFull(content, head)
		if string(head) == "#!" || err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		content = io.MultiReader(strings.NewReader(string(head[:n])), content)
	}
	mode := os.FileMode(0o644)
	top, rest, _ := strings.Cut(file.path, "/")
	if z.executable[file.path] || strings.HasSuffix(top, dataSuffix) && strings.HasPrefix(rest, "scripts/") {
		mode = 0o755
	}
	if err := dir.MkdirAll(path.Dir(file.place), 0o755); err != nil {
		return err
	}
	out, err := dir.OpenFile(file.place, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	return errors.Join(err, out.Close())
}
