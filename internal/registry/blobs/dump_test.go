package blobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
)

func TestExportAndRead(t *testing.T) {
	ctx := context.Background()
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	const n = 2*registry.MaxLimit + 3
	for i := range n {
		registrytest.Insert(t, db, registrytest.Record(t, fmt.Sprintf("io.github.o/a%03d", i), "1.0.0", i))
	}
	if err := db.AddFinding(ctx,
		registry.Finding{Name: "io.github.o/a007", Version: "1.0.0", At: registrytest.Epoch, Build: "b"}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if got, err := blobs.Export(ctx, db, db, &out); err != nil || got != n {
		t.Fatalf("%d records, %v", got, err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != n {
		t.Errorf("%d lines", lines)
	}
	if !strings.Contains(out.String(), "a <b> & c") {
		t.Error("markup is escaped")
	}
	i := 0
	if err := blobs.Read(&out, func(env registry.Envelope) error {
		rec, err := db.Get(ctx, fmt.Sprintf("io.github.o/a%03d", i), "1.0.0")
		if err != nil {
			return err
		}
		want := registry.NewEnvelope(rec)
		if i == 7 {
			want.Meta.Integrity.Findings = []registry.Finding{
				{At: registrytest.Epoch, Build: "b", Evidence: json.RawMessage("[]")}}
		}
		registrytest.Equal(t, rec.Name, env, want)
		i++
		return nil
	}, noArchives); err != nil || i != n {
		t.Errorf("%d read, %v", i, err)
	}
}

func noArchives(blobs.Archive) error { return errors.New("an archive") }

func TestReadDump(t *testing.T) {
	const a, b, c = `{"name":"a/a","version":"1"}`, `{"name":"b/b","version":"1"}`, `{"name":"c/c","version":"1"}`
	const meta = `,"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active"}}`
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"white space", " \n", ""},
		{"empty array", "[]", ""},
		{"array of documents", "\n [" + a + ",\n" + b + "] \n", "a-,b-"},
		{"documents", a + b + "\n" + c, "a-,b-,c-"},
		{"envelopes", `{"server":` + a + meta + "}\n" + `{"server":` + b + `}`, "a+,b-"},
		{"array of envelopes", `[{"server":` + a + meta + `},{"server":` + b + meta + `}]`, "a+,b+"},
		{"pages", `{"servers":[{"server":` + a + meta + `},{"server":` + b + meta +
			`}],"metadata":{"count":2}}{"servers":[{"server":` + c + meta + `}]}`, "a+,b+,c+"},
		{"mixed", `[` + a + `,{"server":` + b + meta + `},{"servers":[{"server":` + c + `}]}]`, "a-,b+,c-"},
		{"case matters", `{"Server":1,"name":"a/a"}`, "a-"},

		{"a number", "7", "! value 1: is not an object"},
		{"null", "null", "! value 1: is not an object"},
		{"a number in an array", "[" + a + ",7]", "a- ! value 2: is not an object"},
		{"servers are no list", `{"servers":7}`, "! value 1: json"},
		{"cut array", "[" + a, "a- ! unexpected EOF"},
		{"cut value", a + `{"name":`, "a- ! value 2: unexpected EOF"},
		{"more after the array", "[" + a + "]" + b, "a- ! more follows"},
		{"no JSON", "name,version", "! value 1: invalid character"},
		{"too long", `{"name":"` + strings.Repeat("a", 1<<17) + `"}`, "! value 1: is longer than"},
	} {
		var got []string
		err := blobs.ReadDump(strings.NewReader(tt.text), 1<<16, func(env registry.Envelope) error {
			var doc struct{ Name string }
			if err := json.Unmarshal(env.Server, &doc); err != nil {
				return err
			}
			mark := "-"
			if env.Meta.Official != nil {
				mark = "+"
			}
			got = append(got, doc.Name[:1]+mark)
			return nil
		}, noArchives)
		want, failure, fails := strings.Cut(tt.want, "!")
		if strings.Join(got, ",") != strings.TrimSpace(want) || (err != nil) != fails ||
			fails && !strings.Contains(err.Error(), strings.TrimSpace(failure)) {
			t.Errorf("%s: %v, %v; want %s", tt.name, got, err, tt.want)
		}
	}
	// Many values that are large together.
	big := `{"name":"` + strings.Repeat("a", 1<<15) + `"}`
	n := 0
	if err := blobs.ReadDump(strings.NewReader("["+strings.Repeat(big+",", 20)+big+"]"), 1<<16,
		func(registry.Envelope) error {
			n++
			return nil
		}, noArchives); err != nil || n != 21 {
		t.Errorf("%d values, %v", n, err)
	}
	stop := errors.New("stop")
	if err := blobs.Read(strings.NewReader(a+b), func(registry.Envelope) error {
		return stop
	}, noArchives); err != stop {
		t.Errorf("error %v", err)
	}
}

func FuzzReadDump(f *testing.F) {
	f.Add([]byte(`[{"name":"a"},{"server":{}}]`))
	f.Add([]byte(`{"servers":[{"server":{}}]}` + "\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = blobs.Read(bytes.NewReader(data), func(env registry.Envelope) error {
			if len(env.Server) > len(data) {
				t.Error("more than there was")
			}
			return nil
		}, noArchives)
	})
}
