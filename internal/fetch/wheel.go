package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/hallmark-mcp/hallmark/archive"
)

// Wheel is what a wheel says of itself.
type Wheel struct {
	Scripts map[string]string // console scripts: what is called, "module:function", by name
	MCPName string            // the MCP server that its description says it is for; "" if none
}

// maxWheelText bounds each file that is read of a wheel, in bytes.
const maxWheelText = 4 << 20

var (
	mcpNameRE = regexp.MustCompile(`mcp-name: *([A-Za-z0-9.-]+/[A-Za-z0-9._-]+)`)
	extrasRE  = regexp.MustCompile(`\s*\[[^\]]*\]$`)
)

// ReadWheel reads the entry points and the description of the wheel in the file name.
func ReadWheel(name string) (*Wheel, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := openZip(f, maxZipList)
	if err != nil {
		return nil, err
	}
	w := &Wheel{Scripts: map[string]string{}}
	seen := map[string]bool{}
	for _, path := range z.paths {
		dir, base, ok := strings.Cut(path, "/")
		if !ok || !strings.HasSuffix(dir, ".dist-info") || base != "METADATA" && base != "entry_points.txt" {
			continue
		}
		if seen[base] {
			return nil, fmt.Errorf("has %s twice", base)
		}
		seen[base] = true
		text, err := z.read(path, maxWheelText)
		if err != nil {
			return nil, err
		}
		if base == "METADATA" {
			if m := mcpNameRE.FindSubmatch(text); m != nil {
				w.MCPName = string(m[1])
			}
			continue
		}
		if err := w.entryPoints(string(text)); err != nil {
			return nil, err
		}
	}
	if !seen["METADATA"] {
		return nil, errors.New("is no wheel: it has no METADATA")
	}
	return w, nil
}

// CheckWheel refuses a wheel that programs would unpack differently, or whose list of files
// is too long.
func CheckWheel(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = openZip(f, maxWheelList)
	return err
}

// CheckTarball refuses a tarball of npm that programs would unpack differently.
func CheckTarball(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	limits := archive.Limits{Packed: 1 << 40, Unpacked: 16 << 30, Ratio: 1 << 40, Entries: 1 << 20}
	_, err = archive.Walk(f, archive.Package, limits, func(archive.Entry, io.Reader) error { return nil })
	return err
}

// entryPoints reads the section of console scripts of an ini file.
func (w *Wheel) entryPoints(text string) error {
	console := false
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			console = line == "[console_scripts]"
		case console:
			name, target, ok := strings.Cut(line, "=")
			if !ok {
				return fmt.Errorf("entry_points.txt has %+q", line)
			}
			target = extrasRE.ReplaceAllString(strings.TrimSpace(target), "")
			w.Scripts[strings.TrimSpace(name)] = strings.ReplaceAll(target, " ", "")
		}
	}
	return lines.Err()
}
