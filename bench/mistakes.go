package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// benchMistakes counts what becomes of edits whose anchors are wrong, over the Go files
// of this repository and of the standard library: how many land on a line that was not
// meant, and how many on the one that was.
//
//	line     the tag is right, and the number is 1 to 20 lines off
//	tag      the number is right, and the tag is another one, at random
//	both     the number is off, and the tag belongs to a line beside the one that was meant
//	stale    anchors are right, but lines were inserted above since; without the check of
//	         file_hash, which refuses all of these
func benchMistakes(_ context.Context, o options, t *table) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	files, err := sources(".", filepath.Join(strings.TrimSpace(string(root)), "src"))
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b,
		"%d files, %d edits for each figure; per cent of them on another line than was meant (on the one that "+
			"was).\n\n", len(files), o.trials)
	b.WriteString(
		"| digits | relocation | wrong line | wrong tag | wrong both | stale, were it not refused |\n" +
			"|---|---|---|---|---|---|\n")
	for width := hashline.MinWidth; width <= hashline.MaxWidth; width++ {
		for _, rule := range []struct {
			name  string
			exact bool
			reach int
		}{{"any distance", false, 0}, {"3 lines", false, 3}, {"off", true, 0}} {
			fmt.Fprintf(&b, "| %d | %s |", width, rule.name)
			for _, kind := range []string{"line", "tag", "both", "stale"} {
				other, meant := mistakes(files, kind, o.trials,
					hashline.Options{Width: width, Exact: rule.exact, Reach: rule.reach})
				fmt.Fprintf(&b, " %.2f (%.1f) |", other, meant)
			}
			b.WriteString("\n")
		}
	}
	t.section("Edits with wrong anchors", b.String())
	return nil
}

// sources reads Go files of 50 to 2,000 lines.
func sources(roots ...string) (files [][]byte, err error) {
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() && (e.Name() == "testdata" || e.Name() == ".git") {
				return filepath.SkipDir
			}
			if filepath.Ext(path) != ".go" {
				return nil
			}
			data, err := os.ReadFile(path)
			if n := bytes.Count(data, []byte("\n")); n >= 50 && n <= 2000 {
				files = append(files, data)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// mistakes gives the percentages of edits on another line and on the one that was meant.
func mistakes(files [][]byte, kind string, trials int, o hashline.Options) (other, meant float64) {
	r := rand.New(rand.NewPCG(4, 4))
	content := "\x01an edit"
	for range trials {
		data := files[r.IntN(len(files))]
		f, err := hashline.Parse(data)
		if err != nil {
			continue
		}
		line := 1 + r.IntN(f.Lines())
		number, hash, want := line, hashline.Hash(f.Line(line)), line
		off := (1 + r.IntN(20)) * (1 - 2*r.IntN(2))
		if kind == "line" || kind == "both" {
			number = min(max(line+off, 1), f.Lines())
		}
		if kind == "both" {
			hash = hashline.Hash(f.Line(min(line+1, f.Lines())))
		}
		if kind == "tag" {
			hash = r.Uint64()
		}
		if kind == "stale" {
			inserted := strings.SplitAfterN(string(files[r.IntN(len(files))]), "\n", 40)
			n := 1 + r.IntN(20)
			data = append([]byte(strings.Join(inserted[:n], "")), data...)
			want += n
		}
		result, err := hashline.Edit(data, []hashline.Operation{{
			Op: hashline.Replace, Anchor: fmt.Sprintf("%d:%s", number, hashline.Tag(hash, o.Width)), Content: &content,
		}}, o)
		if errors.As(err, new(*hashline.Error)) {
			continue
		}
		if result.Hunks[0].OldFirst == want {
			meant++
		} else {
			other++
		}
	}
	return 100 * other / float64(trials), 100 * meant / float64(trials)
}
