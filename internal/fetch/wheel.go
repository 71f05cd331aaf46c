package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Wheel is what a wheel says of itself.
type Wheel struct {
	Scripts map[string]string // console scripts: "module:function", by the name of the command
	MCPName string            // the MCP server that its description says it is for; "" if none

	Requires []Requirement // as METADATA says, without those of extras

	commands []string // of all scripts, of the console and others

	ref    artifact.Ref
	file   string               // of the wheel itself
	files  map[string]wheelFile // by the key of its place
	owners map[string]string    // as in wheelPaths
}

// Requirement is a package that a wheel needs.
type Requirement struct {
	Name     string
	Versions string // in the form of PEP 440, such as ">=1.1.3"; "" for any
}

// wheelFile is a file that a wheel installs; the zero value is one that an installer writes.
type wheelFile struct {
	path  string // in the wheel
	place string // where it is installed
	sum   string // the digest of RECORD; "" for RECORD itself
}

// maxWheelText bounds METADATA and entry_points.txt of a wheel, in bytes.
const maxWheelText = 4 << 20

var (
	extrasRE  = spelling.Form(`\s*\[[^\]]*\]$`)
	requireRE = spelling.Form(`^Requires-Dist:\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?` +
		`\s*\(?([^;()@]*)\)?\s*(;.*)?$`)
)

// ReadWheel reads the wheel ref in the file name to its last byte. It refuses a wheel that
// installers would install differently, and one whose files are not those of its RECORD: see
// spec/wheel.md. The class of bytes that differ from RECORD is integrity, that of all else validation.
func ReadWheel(name string, ref artifact.Ref) (*Wheel, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w, err := readWheel(f, ref)
	if err != nil {
		class := evidence.Validation
		if _, differs := errors.AsType[*digest.MismatchError](err); differs {
			class = evidence.Integrity
		}
		return nil, evidence.Errorf(class, ref.String(), "", err)
	}
	return w, nil
}

func readWheel(f *os.File, ref artifact.Ref) (*Wheel, error) {
	z, err := openZip(f, maxWheelList)
	if err != nil {
		return nil, err
	}
	paths, err := newWheelPaths(z.paths, ref)
	if err != nil {
		return nil, err
	}
	record, err := z.readRecord(paths.info)
	if err != nil {
		return nil, err
	}
	metadata, entries := paths.info+"/METADATA", paths.info+"/entry_points.txt"
	texts := map[string]string{}
	w := &Wheel{Scripts: map[string]string{}, ref: ref, file: f.Name(), files: map[string]wheelFile{},
		owners: paths.owners}
	for _, path := range z.paths {
		place := paths.placeOf[path]
		w.files[place.key] = wheelFile{path, place.path, record.lines[path].sum.String()}
		kept := int64(0)
		if path == metadata || path == entries {
			kept = maxWheelText
		}
		if texts[path], err = z.readRecorded(path, record, kept); err != nil {
			return nil, err
		}
	}
	if err := record.checkAllFound(); err != nil {
		return nil, err
	}
	w.MCPName = FirstServer(texts[metadata])
	w.readRequires(texts[metadata])
	if err := w.readEntryPoints(texts[entries]); err != nil {
		return nil, err
	}
	places, err := paths.addCommands(w.commands)
	for _, place := range places {
		w.files[place] = wheelFile{}
	}
	return w, err
}

// readRequires reads what the head of METADATA says that the wheel needs.
func (w *Wheel) readRequires(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			return // the description follows
		}
		if m := requireRE().FindStringSubmatch(line); m != nil && !strings.Contains(m[3], "extra") {
			w.Requires = append(w.Requires, Requirement{m[1], strings.TrimSpace(m[2])})
		}
	}
}

// ReadConsoleScripts returns what the commands of an installed package call, "module:function", by their names, from
// its entry_points.txt.
func ReadConsoleScripts(text []byte) (map[string]string, error) {
	w := &Wheel{Scripts: map[string]string{}}
	err := w.readEntryPoints(string(text))
	return w.Scripts, err
}

// readEntryPoints reads the scripts of entry_points.txt, an ini file.
func (w *Wheel) readEntryPoints(text string) error {
	section := ""
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section = line
		case section == "[console_scripts]" || section == "[gui_scripts]":
			name, target, ok := strings.Cut(line, "=")
			if !ok {
				return fmt.Errorf("entry_points.txt has %+q", line)
			}
			name = strings.TrimSpace(name)
			w.commands = append(w.commands, name)
			if section == "[console_scripts]" {
				target = extrasRE().ReplaceAllString(strings.TrimSpace(target), "")
				w.Scripts[name] = strings.ReplaceAll(target, " ", "")
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("entry_points.txt: %w", err)
	}
	return nil
}
