package publish_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
)

// A publish whose proof does not hold is published all the same, and says so.
func TestPublishUnproven(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0")
	h := hosttest.New(t)
	publish := func(version string, o trail.Options) (*publish.Publication, error) {
		doc, err := document.Parse("server.json", hosttest.NotesDocument(version, "Notes"))
		if err != nil {
			t.Fatal(err)
		}
		return publish.Server(t.Context(), h, doc, "server.json",
			publish.Options{Registry: &client.Client{Base: r.URL}, NoHash: true, Log: o})
	}
	r.OnWire(func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/publish") {
			body = bytes.Replace(body, []byte(`\nindex 1\n`), []byte(`\nindex 0\n`), 1)
		}
		return body
	})
	_, err := publish("1.1.0", trail.Options{Key: r.Key})
	hosttest.RefusedWith(t, err, evidence.Integrity,
		"io.github.acme/notes@1.1.0: is published, but the registry did not prove",
		"SECURITY ERROR")
	if _, err := (&client.Client{Base: r.URL}).Get(t.Context(), "io.github.acme/notes", "1.1.0"); err != nil {
		t.Error(err)
	}
	// a registry with a log that gives no proof, and one that proves another publish
	r.OnWire(func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/publish") {
			body = bytes.Replace(body, []byte(`"proof":`), []byte(`"other":`), 1)
		}
		return body
	})
	_, err = publish("1.2.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Integrity, "is published, but", "gave no proof")
	r.OnWire(nil)
	p, err := publish("1.3.0", trail.Options{})
	if err != nil || p.Entry == nil || *p.Entry != 3 {
		t.Fatalf("%v %+v", err, p)
	}
	// a log that contradicts itself gets nothing
	r.OnWire(func(path string, body []byte) []byte {
		if strings.HasPrefix(path, "/tile/") {
			body = bytes.Clone(body)
			body[3] ^= 1
		}
		return body
	})
	(&client.Client{Base: r.URL}).Publish(t.Context(), hosttest.NotesDocument("1.4.0", "Notes"), "")
	_, err = publish("1.5.0", trail.Options{})
	hosttest.RefusedWith(t, err, evidence.Integrity, "SECURITY ERROR")
	if _, err := (&client.Client{Base: r.URL}).Get(t.Context(), "io.github.acme/notes",
		"1.5.0"); !trail.IsNotFound(err) {
		t.Errorf("was sent to a log that contradicts itself: %v", err)
	}
}
