package fetch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Suffixes of the two directories at the top of a wheel that installers treat specially.
const (
	infoSuffix = ".dist-info"
	dataSuffix = ".data"
)

// wheelPaths are the paths to which a wheel is installed below one directory, as pip and uv do
// with --target.
type wheelPaths struct {
	info   string            // the directory of its METADATA
	name   string            // of its distribution, normalised
	places *archive.Names    // installed paths, folded: of two spellings some file systems make one
	owners map[string]string // who installs what is below a name at the top, by the folded name

	placeOf map[string]wheelPlace // where each file of the wheel is installed
}

// wheelPlace is where a file is installed.
type wheelPlace struct {
	path string
	key  string // the path folded, one for all places where some installer has the file
}

// newWheelPaths refuses a wheel with the paths of its files unless each is installed to a path of
// its own, which all installers see.
func newWheelPaths(files []string, ref artifact.Ref) (*wheelPaths, error) {
	w := &wheelPaths{name: ref.Normal().Name(), places: archive.NewInstalledNames(), owners: map[string]string{},
		placeOf: map[string]wheelPlace{}}
	for _, path := range files {
		top, base, _ := strings.Cut(path, "/")
		if strings.HasSuffix(top, infoSuffix) && base == "METADATA" {
			if w.info != "" {
				return nil, fmt.Errorf("has both %s and %s", wire.Quoted(w.info), wire.Quoted(top))
			}
			w.info = top
		}
	}
	if w.info == "" {
		return nil, errors.New("is no wheel: it has no METADATA")
	}
	if err := checkInfo(w.info, ref); err != nil {
		return nil, err
	}
	for _, path := range files {
		if err := w.add(path); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// checkInfo refuses a directory of metadata that is named for another release than ref.
func checkInfo(info string, ref artifact.Ref) error {
	name, version, _ := strings.Cut(strings.TrimSuffix(info, infoSuffix), "-")
	is, err := artifact.NewPyPI(name, version, "")
	if err != nil {
		return fmt.Errorf("its directory %s names no release", wire.Quoted(info))
	}
	want, err := artifact.NewPyPI(ref.Name(), ref.Version(), "")
	if err == nil && is.Normal() != want.Normal() {
		err = fmt.Errorf("its directory %s is of another release", wire.Quoted(info))
	}
	return err
}

// isSpecial reports whether some installer, or file system, takes a name at the top for one of
// the directories that are treated specially.
func isSpecial(top string) bool {
	top = spelling.Stem(spelling.Fold(top))
	return strings.HasSuffix(top, infoSuffix) || strings.HasSuffix(top, dataSuffix)
}

// add adds a file of the wheel.
func (w *wheelPaths) add(path string) error {
	top, rest, below := strings.Cut(path, "/")
	if top != strings.TrimSuffix(w.info, infoSuffix)+dataSuffix {
		if isSpecial(top) && (top != w.info || !below) {
			return fmt.Errorf("has %s beside %s; installers differ in whether they treat it specially",
				wire.Quoted(top), wire.Quoted(w.info))
		}
		return w.addPlace(path, path, "packages", path)
	}
	kind, rest, _ := strings.Cut(rest, "/")
	switch head, _, deep := strings.Cut(rest, "/"); {
	case rest == "":
		return fmt.Errorf("has the file %s, which is in none of the directories of .data", wire.Quoted(path))
	case kind == "scripts" && deep:
		return fmt.Errorf("has %s in a directory of scripts, which uv refuses", wire.Quoted(path))
	case kind == "scripts":
		return w.addPlace("bin/"+rest, "bin/"+rest, "prefix", path)
	case kind == "headers":
		place := "include/" + w.name + "/" + rest
		return w.addPlace(place, place, "prefix", path)
	case isSpecial(head):
		return fmt.Errorf("has %s, which is installed to a directory that installers treat specially",
			wire.Quoted(path))
	case kind == "purelib" || kind == "platlib":
		return w.addPlace(rest, rest, "packages", path)
	case kind == "data" && !isLibrary(rest):
		return w.addPlace(rest, w.headerPlace(rest), "prefix", path)
	case kind == "data":
		return fmt.Errorf("has %s, which some installers take for a Python module", wire.Quoted(path))
	}
	return fmt.Errorf("has %s; .data has data, headers, platlib, purelib and scripts only", wire.Quoted(path))
}

// headerPlace returns a path of data. One where some installer puts headers belongs to headers:
// pip has them in include/python/NAME, uv in include/NAME.
func (w *wheelPaths) headerPlace(path string) string {
	rest, ok := strings.CutPrefix(spelling.Fold(path), "include/")
	name, rest, below := strings.Cut(strings.TrimPrefix(rest, "python/"), "/")
	if is, err := artifact.NewPyPI(name, "0", ""); ok && below && err == nil && is.Normal().Name() == w.name {
		return "include/" + w.name + "/" + rest
	}
	return path
}

// isLibrary reports whether a path of data lies where some installer has the modules of Python:
// pip lays out lib/python, or lib64/python, and takes the directory for modules only if its name
// is the beginning of that.
func isLibrary(path string) bool {
	segments := strings.Split(spelling.Fold(path), "/")
	top := segments[0]
	return top != "lib" && strings.HasPrefix("lib64", top) || slices.Contains(segments, "site-packages") ||
		strings.HasPrefix(top, "lib") && len(segments) > 1 && strings.HasPrefix(segments[1], "python")
}

// addPlace adds the place of a file, which owner installs; some installer may have it at other. What is below one name
// at the top belongs to one owner: pip replaces such directories as a whole, and uv merges them.
func (w *wheelPaths) addPlace(place, other, owner, path string) error {
	folded := spelling.Fold(other)
	top, _, _ := strings.Cut(folded, "/")
	if before, ok := w.owners[top]; ok && before != owner {
		return fmt.Errorf("installs %s from .data and from elsewhere, with %s", wire.Quoted(top), wire.Quoted(path))
	}
	w.owners[top], w.placeOf[path] = owner, wheelPlace{place, folded}
	if err := w.places.Add(folded); err != nil {
		return fmt.Errorf("%s is installed where another file is: %w", wire.Quoted(path), err)
	}
	return nil
}

// addCommands adds the programs that installers write for scripts of entry_points.txt, and returns their places.
// Under some of these names pip leaves out a file of the wheel.
func (w *wheelPaths) addCommands(names []string) (places []string, err error) {
	for _, name := range names {
		if strings.Contains(name, "/") {
			return nil, fmt.Errorf("entry_points.txt has the script %s, which leads elsewhere", wire.Quoted(name))
		}
		for _, suffix := range []string{"", ".exe", "-script.py", "-script.pyw", ".pya"} {
			place := spelling.Fold("bin/" + name + suffix)
			if err := w.places.Add(place); err != nil {
				return nil, fmt.Errorf("entry_points.txt has the script %s: %w", wire.Quoted(name), err)
			}
			places = append(places, place)
		}
	}
	return places, nil
}
