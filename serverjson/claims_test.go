package serverjson

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

func TestRefs(t *testing.T) {
	for _, c := range []struct{ pkg, want string }{
		{npmPackage, "npm:@acme/notes@1.4.0"},
		{pypiPackage, "pypi:Acme_Notes==1.4"},
		{mcpbPackage, "https://github.com/acme/notes/releases/download/v1/notes.mcpb"},
		{`{"registryType":"nuget","identifier":"Acme.Notes","version":"1.0.0","transport":{"type":"stdio"}}`,
			"nuget:Acme.Notes@1.0.0"},
		{`{"registryType":"cargo","identifier":"notes","version":"1.0.0","transport":{"type":"stdio"}}`,
			"cargo:notes@1.0.0"},
		{`{"registryType":"oci","identifier":"oci.example.com:5000/notes@sha256:` + hexA +
			`","transport":{"type":"stdio"}}`, "oci:oci.example.com:5000/notes@sha256:" + hexA},
	} {
		d, err := Parse([]byte(doc("packages", `[`+c.pkg+`]`)))
		if err != nil {
			t.Fatal(err)
		}
		ref, err := d.Packages[0].Ref()
		if err != nil || ref.String() != c.want || !d.Covers(ref) || !d.Covers(ref.Normal()) {
			t.Errorf("%s: %s, %v", c.pkg, ref, err)
		}
	}
	// An image without a host is at the default registry of image references.
	a, errA := Package{RegistryType: "oci", Identifier: "redis:7"}.Ref()
	b, errB := Package{RegistryType: "oci", Identifier: "library/redis:7"}.Ref()
	if errA != nil || errB != nil || a.Normal() != b.Normal() {
		t.Errorf("%s (%v) and %s (%v)", a, errA, b, errB)
	}
	d, err := Parse(
		[]byte(doc("packages", "", "package_location",
			`{"type":"github","url":"https://github.com/o/r/releases/download/v1/a"}`)))
	if err != nil || !d.Covers(parse(t, "github:o/r/v1/a")) || d.Covers(parse(t, "github:o/r/v2/a")) ||
		d.Covers(artifact.Ref{}) {
		t.Error("package_location of github", err)
	}
	if d.Packages[0].Pointer != "/package_location" || d.Packages[0].Version != "1.4.0" {
		t.Errorf("%+v", d.Packages[0])
	}
}

func parse(t *testing.T, s string) artifact.Ref {
	t.Helper()
	r, err := artifact.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestClaims(t *testing.T) {
	d, err := Parse([]byte(doc("packages", `[`+npmPackage+`,`+mcpbPackage+`]`, "file_hashes", `{
		"npm:@acme/notes@1.4.0": "sha256:`+hexA+`", "https://github.com/acme/notes/releases/download/v1/notes.mcpb": "blake3:00",
		"npm:stranger@1.0.0": "sha256:`+hexA+`", "nothing": "sha256:`+hexA+`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	claims, cannot := d.Claims("server.json")
	var got []string
	for _, c := range claims {
		got = append(got, fmt.Sprintln(c.Subject, c.Scheme, c.Authority, c.Where, c.FormatExpected()))
	}
	want := []string{
		"npm:@acme/notes@1.4.0 file publisher server.json, file_hashes sha256:" + hexA + "\n",
		"https://github.com/acme/notes/releases/download/v1/notes.mcpb file publisher server.json, fileSha256 sha256:" +
			hexA + "\n",
	}
	if !slices.Equal(got, want) {
		t.Errorf("claims %q", got)
	}
	causes := map[string]evidence.Cause{}
	for _, e := range cannot {
		if e.Outcome != evidence.Unverifiable {
			t.Errorf("%s: %s", e.Subject, e.Outcome)
		}
		causes[e.Subject] = e.Cause
	}
	if len(causes) != 3 ||
		causes["https://github.com/acme/notes/releases/download/v1/notes.mcpb"] != evidence.Unsupported ||
		causes["npm:stranger@1.0.0"] != evidence.Malformed || causes["nothing"] != evidence.Malformed {
		t.Errorf("cannot verify %v", causes)
	}
	o := evidence.Observed{Digests: []digest.Digest{digest.FromBytes(nil)}}
	if evidence.Compare(claims[0], o).Outcome != evidence.Mismatch {
		t.Error("a claim compares with anything")
	}
}

// One file has one name in the evidence: that of its hash, also where the document names it by its URL.
func TestClaimsOfOneFile(t *testing.T) {
	const key = "github:acme/notes/v1/notes.mcpb"
	d, err := Parse([]byte(doc("packages", `[`+mcpbPackage+`]`, "file_hashes", `{"`+key+`": "sha256:`+hexA+`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	claims, cannot := d.Claims("server.json")
	if len(claims) != 2 || len(cannot) > 0 || claims[0].Subject != key || claims[1].Subject != key ||
		claims[1].Where != "server.json, fileSha256" {
		t.Errorf("%+v, %v", claims, cannot)
	}
}
