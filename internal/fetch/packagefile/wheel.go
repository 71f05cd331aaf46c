package packagefile

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Wheel is what a wheel says of itself.
type Wheel struct {
	Scripts map[string]string // console scripts: "module:function", by the name of the command
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
		if err := w.readEntryPoints(string(text)); err != nil {
			return nil, err
		}
	}
	if !seen["METADATA"] {
		return nil, errors.New("is no wheel: it has no METADATA")
	}
	return w, nil
}

// readEntryPoints reads the section of console scripts of entry_points.txt, an ini file.
func (w *Wheel) readEntryPoints(text string) error {
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
	if err := lines.Err(); err != nil {
		return fmt.Errorf("entry_points.txt: %w", err)
	}
	return nil
}
