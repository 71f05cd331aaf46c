package clients

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/machine"
	projectfiles "github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Original is an entry that was rewritten to start its server with "hallmark run". Originals are kept in a
// JSON file beside the client's own: [OriginalsPath]. It moves with the client's file, so that anyone who has
// both can restore the entry.
type Original struct {
	// Project is the directory whose server the entry starts now, absolute. It is empty for a client's
	// file inside of that directory, which may be checked out anywhere.
	Project string `json:"project,omitempty"`
	// Server is what that server is called there; "" if it is called as the entry.
	Server string `json:"server,omitempty"`
	Change
}

// ServerName returns what the server that the entry starts now is called in its project.
func (o Original) ServerName() string { return cmp.Or(o.Server, o.Name) }

const originalsVersion = 1

type originalsWire struct {
	Version int        `json:"originals_version"`
	Entries []Original `json:"entries"`
}

// OriginalsPath returns where the originals of a client's file are kept. Clients that read every file of
// a directory do not read one with this extension.
func OriginalsPath(file string) string { return file + ".hallmark" }

// LoadOriginals reads the originals of a client's file. There are none if the file of them does not exist.
func LoadOriginals(file string) ([]Original, error) {
	name := OriginalsPath(file)
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	data, err := readFile(name, MaxFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if projectfiles.HasConflict(data) {
		return nil, fmt.Errorf("%s: has merge conflict markers; take them out, so that the list has the entries of "+
			"both branches", name)
	}
	var w originalsWire
	if err := surface.Decode(data, &w); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if w.Version != originalsVersion {
		return nil, fmt.Errorf("%s: originals_version is %d; this build reads %d", name, w.Version, originalsVersion)
	}
	for i, o := range w.Entries {
		if o.File == "" || o.Added == "" && (o.Name == "" || o.Was == "" || o.Now == "") {
			return nil, fmt.Errorf("%s: does not say what the entry %+q was, and is", name, o.Name)
		}
		w.Entries[i].File = file // which may have moved since it was rewritten
	}
	return w.Entries, nil
}

// EncodeOriginals returns the file that [LoadOriginals] reads.
func EncodeOriginals(entries []Original) ([]byte, error) {
	w := originalsWire{Version: originalsVersion}
	for _, o := range entries {
		// JSON would replace what is not UTF-8, and the entry could not be restored.
		if !utf8.ValidString(o.Was) || !utf8.ValidString(o.Now) {
			return nil, fmt.Errorf("%+q is not UTF-8", o.Name)
		}
		o.File = filepath.Base(o.File)
		w.Entries = append(w.Entries, o)
	}
	return machine.MarshalIndented(w)
}
