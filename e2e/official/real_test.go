package official

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
)

// TestRealDocuments needs the network. It compares the verdicts on documents that their authors put into their own packages, as
// they are: valid or not, a difference is one that docs/registry-compat.json lists.
func TestRealDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("uses the network")
	}
	list, err := os.ReadFile(filepath.Join("testdata", "real.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var refs []string
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			refs = append(refs, line)
		}
	}
	client := fetch.New(fetch.Config{Dir: t.TempDir(), AnyHost: true})
	defer client.CloseIdleConnections()
	docs := make([]string, len(refs))
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for i, text := range refs {
		group.Go(func() error {
			ref, err := artifact.Parse(text)
			if err != nil {
				return err
			}
			d, err := client.Fetch(ctx, ref)
			if err != nil {
				return err
			}
			defer d.Close()
			docs[i], err = readDocument(d)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	ours, theirs := startHallmark(t), startOfficial(t)
	found := map[difference]string{}
	valid := 0
	for i, doc := range docs {
		a, b := ask(t, ours, []byte(doc)), ask(t, theirs, []byte(doc))
		if a.Valid {
			valid++
		}
		differ(t, found, refs[i], doc, a, b)
	}
	t.Logf("%d of %d documents are valid", valid, len(docs))
	if valid == 0 || valid == len(docs) {
		t.Error("documents of one verdict show little")
	}
	compare(t, found)
}

// readDocument returns the server.json at the top of a source archive.
func readDocument(d *fetch.Download) (string, error) {
	f, err := d.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	text := ""
	_, err = archive.Walk(f, archive.Package, archive.Limits{}, func(e archive.Entry, r io.Reader) error {
		if _, name, _ := strings.Cut(e.Path, "/"); name != "server.json" {
			return nil
		}
		data, err := io.ReadAll(r)
		text = string(data)
		return err
	})
	if err == nil && text == "" {
		err = errors.New(d.Ref.String() + " has no server.json")
	}
	return text, err
}
