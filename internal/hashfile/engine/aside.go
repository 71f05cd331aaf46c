package engine

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// tempRandom is how many random characters a temporary name has.
const tempRandom = 12

// setAside calls put with a temporary name for the file of p: one in the directory of the locks, or if put cannot give
// that, as on another mount, one beside the file. Release is called when nothing has the name any longer.
func (w *writer) setAside(
	p *place.Place, put func(temp *place.Place) error,
) (temp *place.Place, release func(), err error) {
	if movesBetweenDirectories {
		if locks, err := os.OpenRoot(w.locks); err == nil {
			temp := place.In(locks, keptName(p), nil)
			temp.Asked = filepath.Join(w.locks, temp.Name)
			if put(temp) == nil {
				return temp, func() { locks.Close() }, nil
			}
			locks.Close()
		}
	}
	temp = beside(p)
	return temp, func() {}, put(temp)
}

// beside returns the place of a temporary name in the directory of p.
func beside(p *place.Place) *place.Place {
	temp := p.Sibling("." + shorten(p.Name) + "." + rand.Text()[:tempRandom] + ".tmp")
	temp.Asked = filepath.Join(p.Directory(), temp.Name)
	return temp
}

// keptName returns a temporary name for the file of p in the directory of the locks: its lock, which says whether a
// server lives that uses the name, and the file's own name, for people.
func keptName(p *place.Place) string {
	return slotOf(p.Real()) + "." + rand.Text()[:tempRandom] + "." + shorten(p.Name)
}

// parseKept is the reverse of keptName.
func parseKept(name string) (slot, file string, ok bool) {
	slot, rest, _ := strings.Cut(name, ".")
	random, file, _ := strings.Cut(rest, ".")
	return slot, file, isSlot(slot) && len(random) == tempRandom && file != ""
}

// shorten cuts a file's name so that a temporary one has room for it: names end at 255 bytes.
func shorten(name string) string {
	if len(name) > 200 {
		return strings.ToValidUTF8(name[:200], "")
	}
	return name
}

// maxLeftovers is how many files Leftovers names.
const maxLeftovers = 3

// Leftovers returns a sentence about each file that killed servers left in the directory of the locks, for people.
// There may be many, and then the last sentence only says so. A file whose lock is held is in use.
func (w *writer) Leftovers() (sentences []string) {
	entries, err := os.ReadDir(w.locks)
	if err != nil || !w.isPrivate() {
		return nil // there is none, or Lock will say what is wrong with it
	}
	for _, e := range entries {
		slot, file, ok := parseKept(e.Name())
		if !ok || !w.isAbandoned(slot, e.Name()) {
			continue
		}
		if len(sentences) == maxLeftovers {
			return append(sentences, fmt.Sprintf("there may be more files in %s that killed servers left",
				place.Show(w.locks)))
		}
		sentences = append(sentences, fmt.Sprintf("a server was killed while it replaced or moved a file named %s; "+
			"what that held before, or was to hold, is kept as %s, which may be deleted when it is not needed",
			place.Show(file), place.Show(filepath.Join(w.locks, e.Name()))))
	}
	return sentences
}

// isAbandoned reports whether a file in the directory of the locks is there while nobody holds its lock.
func (w *writer) isAbandoned(slot, name string) bool {
	unlock, err := durable.TryLock(filepath.Join(w.locks, slot), "a file that is edited")
	if err != nil {
		return false
	}
	defer unlock()
	_, err = os.Lstat(filepath.Join(w.locks, name))
	return err == nil
}
