package registry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
)

// archives are one archive of each kind, and a facet that is private.
func archives(t *testing.T) map[string][]byte {
	t.Helper()
	kit := func(more string) []byte {
		return hosttest.Packed(t, map[string]string{"commands/go.md": "go",
			"facet.json": `{"name":"kit","version":"1.0.0","commands":{"go":{"description":"x"}}` + more + `}`})
	}
	dir, plugin := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"main.js": "x", "server.json": `{"name":"notes","version":"1.4.0",` +
		`"description":"Notes","runtime":"node","entry":"main.js"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, zip := filepath.Join(t.TempDir(), "s.facet"), filepath.Join(t.TempDir(), "p.zip")
	_, err := publish.Pack(t.Context(), publish.PackOptions{Dir: dir, File: server})
	hosttest.WritePlugin(t, plugin, "acme-tools", nil, map[string]string{"dist/index.js": "export const x = 1\n"})
	_, hashed := plugins.Hash(t.Context(), plugin, plugins.HashOptions{Write: true})
	_, _, zipped := plugins.Pack(t.Context(), plugin, zip)
	if err := errors.Join(err, hashed, zipped); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	return map[string][]byte{"facet": kit(""), "private": kit(`,"private":true`), "artifact": read(server),
		"plugin": read(zip)}
}

func section(data []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
}

// Each kind reads its own archives, and what it computes of them admits them; those of another kind, of
// nobody else's business, or damaged, are their author's mistake.
func TestRead(t *testing.T) {
	all, ctx := archives(t), t.Context()
	for _, k := range registry.ArchiveKinds(archive.Limits{}) {
		for name, data := range all {
			c, err := k.Read(ctx, section(data))
			if name != string(k.Kind) {
				if evidence.ClassOf(err) != evidence.Validation {
					t.Errorf("%s is read as %s: %+v, %v", name, k.Kind, c, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			rec := registry.ArchiveRecord{Kind: name, Name: c.Name, Version: c.Version, Manifest: c.Manifest,
				ContentHash: c.ContentHash, ContentIntegrity: c.ContentIntegrity, Size: int64(len(data))}
			document, err := rec.Document()
			v := policy.Judge(policy.Accept, policy.Settings{}, registry.ReportArchive(rec, c, document))
			if err != nil || !v.Allowed() || rec.Admit(v.Admitted()) != nil ||
				!evidence.Same(c.ContentHash, digest.FromBytes(data)) || len(c.Assets) < 2 {
				t.Errorf("%s: %v, %v: %+v", name, err, v.Err(), c)
			}
			if c, err := k.Read(ctx, section(data[:len(data)/2])); evidence.ClassOf(err) != evidence.Validation {
				t.Errorf("half of %s: %+v, %v", name, c, err)
			}
			gone, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := k.Read(gone, section(data)); !errors.Is(err, context.Canceled) {
				t.Errorf("%s is read for nobody: %v", name, err)
			}
		}
	}
}

// What is larger than the limits is refused by every kind.
func TestReadLimits(t *testing.T) {
	all := archives(t)
	for _, k := range registry.ArchiveKinds(archive.Limits{Unpacked: 16}) {
		if c, err := k.Read(t.Context(), section(all[string(k.Kind)])); evidence.ClassOf(err) != evidence.Validation {
			t.Errorf("%s: %+v, %v", k.Kind, c, err)
		}
	}
}

// One table tells the kinds apart: what is an archive can be read and saved, a kind without a row has a title
// and nothing to install, and no text has another version than it is asked for.
func TestTable(t *testing.T) {
	if got := registry.ArchiveKindNames(); !slices.Equal(got, []ledger.Kind{ledger.Artifact, ledger.Facet, ledger.Plugin}) {
		t.Errorf("archives: %q", got)
	}
	if k := registry.PluginKind(archive.Limits{}); k.Kind != ledger.Plugin || k.FileName("a", "1.0.0") != "a-1.0.0.zip" {
		t.Errorf("%+v", k)
	}
	for _, k := range registry.ArchiveKinds(archive.Limits{}) {
		if k.Kind != ledger.Plugin && !strings.HasSuffix(k.FileName("@acme/a", "1.0.0"), "acme-a-1.0.0.facet") {
			t.Errorf("%+v", k)
		}
	}
	for _, kind := range append(registry.ArchiveKindNames(), ledger.Server, "other") {
		k := registry.ArchiveKindOf(kind)
		text := strings.Join(k.Install("@acme/a", "1.2.3", "local"), "")
		if k.Kind != kind || k.Title == "" || (text == "") != (kind == "other") ||
			text != "" && !strings.Contains(text, "@acme/a@1.2.3") {
			t.Errorf("%s: %q, %q", kind, k.Title, text)
		}
	}
	a := registry.ArchiveRecord{ContentHash: digest.FromBytes(nil)}
	if b := (registry.ArchiveRecord{ContentHash: digest.FromBytes([]byte("b"))}); registry.SameArchive(a, b) ||
		!registry.SameArchive(a, a) ||
		registry.SameArchive(registry.ArchiveRecord{}, registry.ArchiveRecord{}) {
		t.Error("records are of the same bytes by something else than their digests")
	}
}
