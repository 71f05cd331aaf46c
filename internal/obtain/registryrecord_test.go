package obtain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// packaged is the document of a server with these packages, and further members.
func packaged(packages, more string) json.RawMessage {
	return json.RawMessage(`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":"io.github.acme/packed","description":"Notes","version":"1.0.0",
		"packages":[` + packages + `]` + more + `}`)
}

const npmPackage = `{"registryType":"npm","identifier":"notes","version":"1.0.0","transport":{"type":"stdio"}`

// read reads a record with a document.
func read(t *testing.T, document json.RawMessage, meta registry.Meta) *obtain.Record {
	t.Helper()
	r, err := obtain.RecordFromEnvelope(workspace.Empty(hosttest.New(t), ""), registry.Envelope{Server: document, Meta: meta})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustRef(t *testing.T, text string) artifact.Ref {
	t.Helper()
	ref, err := artifact.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// A record is asked for by an exact version, and only of a registry that the project names.
func TestNames(t *testing.T) {
	h := hosttest.New(t)
	w := workspace.Empty(h, "")
	for _, name := range []string{"", "x", "@1.0.0", "x@", "x@latest", "io.github.acme/notes@"} {
		_, err := obtain.FetchRecord(t.Context(), w, w.Logs(trail.Options{}), name)
		hosttest.RefusedWith(t, err, evidence.Validation, "a record is named with an exact version")
		_, err = obtain.FetchProof(t.Context(), h, project.Registry{}, name, trail.Options{})
		hosttest.RefusedWith(t, err, evidence.Validation, "a record is named with an exact version")
	}
	_, err := obtain.FetchRecord(t.Context(), w, w.Logs(trail.Options{}), "x@1.0.0")
	hosttest.RefusedWith(t, err, evidence.Validation, "no registry is configured")
	ref := mustRef(t, "npm:notes@1.0.0")
	if r, err := obtain.FetchRecordFor(t.Context(), w, w.Logs(trail.Options{}), ref, "io.github.acme/notes"); r != nil ||
		err != nil {
		t.Errorf("without a registry: %v, %v", r, err)
	}
}

// The record that publishes a package is found among the versions of a server, with its proof; a
// server that nobody published is no error.
func TestFetchFor(t *testing.T) {
	r := hosttest.NewLoggedRegistry(t, "")
	r.Publish("1.0.0")
	h, rules := hosttest.New(t), project.Registry{URL: r.URL, LogKey: r.Key}
	w := &workspace.Workspace{Host: h, Config: &project.Config{Registry: rules}}
	for _, name := range []string{"io.github.acme/notes", "io.github.acme/none", ""} {
		found, err := obtain.FetchRecordFor(t.Context(), w, w.Logs(trail.Options{}), mustRef(t, "npm:notes@1.0.0"), name)
		if found != nil || err != nil {
			t.Errorf("%s has a package: %v, %v", name, found, err)
		}
	}
	if _, err := (&client.Client{Base: r.URL}).Publish(t.Context(), packaged(npmPackage+"}", ""), ""); err != nil {
		t.Fatal(err)
	}
	found, err := obtain.FetchRecordFor(t.Context(), w, w.Logs(trail.Options{}), mustRef(t, "npm:notes@1.0.0"),
		"io.github.acme/packed")
	if err != nil || found == nil || found.Lock.Version != "1.0.0" || found.Lock.Proof == "" {
		t.Errorf("the record of the package: %+v, %v", found, err)
	}
	named, err := obtain.FetchRecord(t.Context(), w, w.Logs(trail.Options{}), "io.github.acme/notes@1.0.0")
	if err != nil || named.Lock.Proof == "" || named.Lock.Registry != rules.Name() {
		t.Fatalf("%+v, %v", named, err)
	}
	proven, err := obtain.FetchProof(t.Context(), h, rules, "io.github.acme/notes@1.0.0", trail.Options{})
	if err != nil || proven.Leaf.Document.String() != named.Lock.Document.String() {
		t.Errorf("%+v, %v", proven, err)
	}
	_, err = obtain.FetchRecord(t.Context(), w, w.Logs(trail.Options{}), "io.github.acme/notes@2.0.0")
	hosttest.RefusedWith(t, err, evidence.Operation, "io.github.acme/notes@2.0.0")
	r.OnWire(func(path string, body []byte) []byte { // the document is another one than was recorded
		return []byte(strings.Replace(string(body), `"Notes`, `"Other notes`, 1))
	})
	changed, err := obtain.FetchRecord(t.Context(), w, w.Logs(trail.Options{}), "io.github.acme/notes@1.0.0")
	if err == nil {
		err = policy.Judge(policy.Pin, policy.Settings{}, changed.Report).Err()
	}
	hosttest.RefusedWith(t, err, evidence.Integrity, "io.github.acme/notes@1.0.0")
}

// What a registry says of a record is judged: its digest of the document, and its status.
func TestFromEnvelope(t *testing.T) {
	document := packaged(npmPackage+"}", "")
	right, other := read(t, document, registry.Meta{}).Lock.Document, digest.FromBytes([]byte("other"))
	for name, c := range map[string]struct {
		document digest.Digest
		status   registry.Status
		class    evidence.Class
		warnings int
	}{
		"active":     {right, registry.Active, evidence.OK, 0},
		"deprecated": {right, registry.Deprecated, evidence.OK, 1},
		"deleted":    {right, registry.Deleted, evidence.Refused, 0},
		"unknown":    {right, "paused", evidence.Refused, 0},
		"another":    {other, registry.Active, evidence.Integrity, 0},
	} {
		r := read(t, document, registry.Meta{Integrity: &registry.Integrity{Document: c.document},
			Official: &registry.Official{Status: c.status, StatusMessage: "leaks keys"}})
		v := policy.Judge(policy.Pin, policy.Settings{}, r.Report)
		if v.Class() != c.class || len(v.Warnings()) != c.warnings {
			t.Errorf("%s: %v, %v: %v", name, v.Class(), v.Warnings(), v.Err())
		}
	}
	w := workspace.Empty(hosttest.New(t), "")
	for _, text := range []string{"", "null", `{"name":"x"}`, string(document) + "{}"} {
		if _, err := obtain.RecordFromEnvelope(w, registry.Envelope{Server: json.RawMessage(text)}); err == nil {
			t.Errorf("%q is a record", text)
		}
	}
}

// Claims count for the package that they name, however its name is spelled, and a package about which
// a record claims nothing is not vouched for.
func TestClaimsOf(t *testing.T) {
	is := digest.FromBytes([]byte("w"))
	r := read(t, packaged(`{"registryType":"pypi","identifier":"my-notes","version":"1.0",`+
		`"transport":{"type":"stdio"}}`,
		`,"file_hashes":{"pypi:my-notes==1.0/my_notes-1.0-py3-none-any.whl":"`+is.String()+`"}`), registry.Meta{})
	o := hosttest.Observed(is)
	for ref, c := range map[string]struct {
		r    *obtain.Record
		o    evidence.Observed
		want evidence.Outcome
	}{
		"pypi:my-notes==1.0/my_notes-1.0-py3-none-any.whl": {r, o, evidence.Match},
		"pypi:My_Notes==1.0/my_notes-1.0-py3-none-any.whl": {r, hosttest.Observed(digest.FromBytes(nil)),
			evidence.Mismatch},
		"pypi:my-notes==1.0/my_notes-1.0.tar.gz": {r, o, evidence.Absent},
		"npm:notes@1.0.0":                        {nil, o, evidence.Absent},
	} {
		report := c.r.ClaimsOf(mustRef(t, ref), c.o)
		if len(report) != 1 || report[0].Outcome != c.want || report[0].Authority != evidence.Record {
			t.Errorf("%s: %+v, want %s", ref, report, c.want)
		}
	}
}

// A claim of a release is one of its only file. A file that was added since is not what was claimed.
func TestClaimsOfRelease(t *testing.T) {
	is := digest.FromBytes([]byte("w"))
	r := read(t, packaged(`{"registryType":"pypi","identifier":"my-notes","version":"1.0",`+
		`"transport":{"type":"stdio"}}`, `,"file_hashes":{"pypi:my-notes==1.0":"`+is.String()+`"}`), registry.Meta{})
	for ref, want := range map[string]evidence.Outcome{
		"pypi:my-notes==1.0/my_notes-1.0-py3-none-any.whl":     evidence.Match,
		"pypi:My_Notes==1.0/my_notes-1.0.tar.gz":               evidence.Match,
		"pypi:my-notes==1.0/my_notes-1.0-cp312-linux.whl":      evidence.Mismatch,
		"pypi:my-notes==1.0.1/my_notes-1.0.1-py3-none-any.whl": evidence.Absent,
	} {
		o := hosttest.Observed(is)
		if want == evidence.Mismatch {
			o = hosttest.Observed(digest.FromBytes(nil))
		}
		if report := r.ClaimsOf(mustRef(t, ref), o); len(report) != 1 || report[0].Outcome != want {
			t.Errorf("%s: %+v, want %s", ref, report, want)
		}
	}
}

// Only what node or python starts over stdio can be started, with all arguments that it needs.
func TestStartablePackage(t *testing.T) {
	for packages, want := range map[string]string{
		npmPackage + `}`: "npm:notes@1.0.0", // the first one
		`{"registryType":"oci","identifier":"oci.example.com/a:1","transport":{"type":"stdio"}},` + npmPackage +
			"}": "npm:" +
			"notes@1.0.0",
		npmPackage + `,"packageArguments":[{"type":"positional","value":"serve"},` +
			`{"type":"named","name":"--dir","value":"{dir}"},{"type":"named","name":"--log","value":"x"}],` +
			`"environmentVariables":[{"name":"TOKEN"}]}`: "npm:notes@1.0.0 serve --log x TOKEN",
		npmPackage + `,"packageArguments":[{"type":"named","name":"--dir","isRequired":true}]}`: "needs a " +
			`value for its argument "--dir"`,
		`{"registryType":"npm","identifier":"notes","version":"1.0.0","transport":{"type":"streamable-http",` +
			`"url":"https://mcp.example.com/"}}`: "has no package of npm or PyPI with stdio",
		`{"registryType":"oci","identifier":"oci.example.com/a:1","transport":{"type":"stdio"},` +
			`"environmentVariables":[{"name":"TOKEN"}]}`: `hint: declare its image: command = "docker", ` +
			`arguments = ["run", "-i", "--rm", "-e", "TOKEN", "oci.example.com/a:1"]`,
	} {
		ref, args, variables, err := read(t, packaged(packages, ""), registry.Meta{}).StartablePackage()
		got := strings.Join(append(append([]string{ref.String()}, args...), variables...), " ")
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != want || err != nil && (evidence.ClassOf(err) != evidence.Refused ||
			!strings.Contains(got, want)) {
			t.Errorf("%s\nis started as %q, want %q", packages, got, want)
		}
	}
}
