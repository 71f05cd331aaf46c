package serverjson

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// list joins what item gives for 0..n-1.
func list(n int, item func(int) string) string {
	all := make([]string, n)
	for i := range n {
		all[i] = item(i)
	}
	return strings.Join(all, ",")
}

func packages(n int) string {
	return "[" + list(n, func(i int) string {
		return fmt.Sprintf(`{"registryType":"npm","identifier":"p%d","version":"1.0.0","transport":{"type":"stdio"}}`,
			i)
	}) + "]"
}

func npmHashes(n int) string {
	return "{" + list(n, func(i int) string { return fmt.Sprintf(`"npm:p%d@1.0.0":"sha256:%s"`, i, hexA) }) + "}"
}

func pypiHashes(n int) string {
	return "{" + list(n, func(i int) string {
		return fmt.Sprintf(`"pypi:acme-notes==1.4/f%d.whl":"sha256:%s"`, i, hexA)
	}) + "}"
}

func TestLimits(t *testing.T) {
	const meta = "/_meta/io.modelcontextprotocol.registry~1publisher-provided/file_hashes"
	inMeta := func(hashes string) string { return `{"` + publisherMeta + `":{"file_hashes":` + hashes + `}}` }
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"64 packages with a hash each", doc("packages", packages(64), "file_hashes", npmHashes(64)), nil},
		{"65 packages", doc("packages", packages(65)), []string{"/packages too-many-packages"}},
		{"64 files of a release", doc("packages", `[`+pypiPackage+`]`, "file_hashes", pypiHashes(64)), nil},
		{"65 hashes", doc("packages", `[`+pypiPackage+`]`, "file_hashes", pypiHashes(65)),
			[]string{"/file_hashes too-many-file-hashes"}},
		{"65 hashes in _meta", doc("packages", `[`+pypiPackage+`]`, "_meta", inMeta(pypiHashes(65))),
			[]string{meta + " too-many-file-hashes"}},
		{"both, and nothing else is looked at",
			doc("packages", packages(65), "file_hashes", npmHashes(65), "title", "1"),
			[]string{"/packages too-many-packages", "/file_hashes too-many-file-hashes"}},
		{"64 hashes and another package",
			doc("packages", `[`+pypiPackage+`,`+npmPackage+`]`, "file_hashes", pypiHashes(64)),
			[]string{"/file_hashes too-many-files"}},
		{"63 hashes and another package",
			doc("packages", `[`+pypiPackage+`,`+npmPackage+`]`, "file_hashes", pypiHashes(63)), nil},
		{"the same hash in both places is one file",
			doc("packages", packages(64), "file_hashes", npmHashes(64), "_meta", inMeta(npmHashes(20))), nil},
		{"hashes in both places",
			doc("packages", `[`+pypiPackage+`,`+packages(20)[1:], "file_hashes", pypiHashes(45), "_meta",
				inMeta(npmHashes(20))), []string{"/file_hashes too-many-files"}},
	} {
		got := problems(t, c.text)
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}

	// A document that nobody parsed has the same limits.
	d := &Document{Name: "com.example/notes", Version: "1.0.0"}
	for i := range MaxPackages + 1 {
		d.Packages = append(d.Packages,
			Package{RegistryType: model.RegistryTypeNPM, Identifier: fmt.Sprintf("p%d", i), Version: "1.0.0"})
		d.FileHashes = append(d.FileHashes, FileHash{Pointer: "/file_hashes/x"})
	}
	var got []string
	for _, i := range d.Validate().Errors() {
		got = append(got, i.Reference)
	}
	if !slices.Equal(got, []string{"too-many-file-hashes", "too-many-packages"}) {
		t.Errorf("not parsed: %q", got)
	}
}

// What anybody may send costs as much as it is long, not its square.
func TestManyOfEverything(t *testing.T) {
	const n = 4600
	text := []byte(doc("packages", packages(n), "file_hashes", npmHashes(n)))
	began := time.Now()
	if _, err := Parse(text); err == nil {
		t.Fatal("accepted")
	}
	// The test asserts the number of issues, not the time; it shows in the log.
	t.Logf("%d bytes in %v", len(text), time.Since(began))

	d := &Document{}
	for i := range n {
		p := Package{RegistryType: model.RegistryTypeNPM, Identifier: fmt.Sprintf("p%d", i), Version: "1.0.0"}
		ref, err := p.Ref()
		if err != nil {
			t.Fatal(err)
		}
		d.Packages = append(d.Packages, p)
		d.FileHashes = append(d.FileHashes,
			FileHash{Key: ref.String(), Ref: ref, Value: "sha256:" + hexA, Pointer: "/file_hashes/x"})
	}
	began = time.Now()
	claims, cannot := d.Claims("server.json")
	t.Logf("claims of %d packages in %v", n, time.Since(began))
	if len(claims) != n || len(cannot) != 0 {
		t.Errorf("%d claims, %d others", len(claims), len(cannot))
	}
}

// A package at another registry would be fetched from the usual one, so it has no Ref.
func TestRegistryBaseURL(t *testing.T) {
	at := func(registryType, identifier, base string) string {
		return doc("packages",
			fmt.Sprintf(`[{"registryType":%q,"identifier":%q,"version":"1.0.0","registryBaseUrl":%q,`+
				`"transport":{"type":"stdio"}}]`, registryType, identifier, base))
	}
	usual := map[string]string{model.RegistryTypeNPM: model.RegistryURLNPM,
		model.RegistryTypePyPI:  model.RegistryURLPyPI,
		model.RegistryTypeNuGet: model.RegistryURLNuGet, model.RegistryTypeCargo: model.RegistryURLCrates}
	const path = "/packages/0/registryBaseUrl "
	for registryType, base := range usual {
		if got := problems(t, at(registryType, "notes", base)); len(got) != 0 {
			t.Errorf("%s at %s: %q", registryType, base, got)
		}
		for _, other := range []string{"https://npm.example.com", base + "/", base + "?x", strings.ToUpper(base)} {
			want := []string{path + "registry-base-url-unknown"}
			if strings.HasPrefix(other, "HTTPS") {
				other = "https" + other[5:]
			}
			text := at(registryType, "notes", other)
			if got := problems(t, text); !slices.Equal(got, want) {
				t.Errorf("%s at %s: %q", registryType, other, got)
			}
			d, err := Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if ref, err := d.Packages[0].Ref(); err == nil || !strings.Contains(err.Error(), "cannot be checked") {
				t.Errorf("%s at %s is %s, %v", registryType, other, ref, err)
			}
		}
	}
	if got := problems(t, at(model.RegistryTypeNPM, "notes", model.RegistryURLPyPI)); !slices.Equal(got,
		[]string{path + "registry-base-url-unknown"}) {
		t.Errorf("npm at the registry of Python: %q", got)
	}
	// Its claims are of a file that no package gives.
	text := strings.Replace(at(model.RegistryTypeNPM, "notes", "https://npm.example.com"), `"name"`,
		`"file_hashes":{"npm:notes@1.0.0":"sha256:`+hexA+`"},"name"`, 1)
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if claims, cannot := d.Claims("server.json"); len(claims) != 0 || len(cannot) != 1 ||
		d.Covers(parse(t, "npm:notes@1.0.0")) {
		t.Errorf("claims %v", claims)
	}
	bundle := doc("packages",
		strings.Replace("["+mcpbPackage+"]", `"identifier"`, `"registryBaseUrl":"https://example.com","identifier"`, 1))
	if got := problems(t, bundle); !slices.Equal(got, []string{path + "member-not-allowed"}) {
		t.Errorf("mcpb: %q", got)
	}
}

func TestGives(t *testing.T) {
	for _, c := range []struct {
		pkg  string
		ref  string
		want bool
	}{
		{npmPackage, "npm:@acme/notes@1.4.0", true},
		{npmPackage, "npm:@acme/notes@1.4.1", false},
		{npmPackage, "pypi:acme-notes==1.4", false},
		{pypiPackage, "pypi:acme-notes==1.4.0", true},
		{pypiPackage, "pypi:acme-notes==1.4.0/a.whl", true},
		{pypiPackage, "pypi:acme-notes==1.5/a.whl", false},
		{mcpbPackage, "github:Acme/notes/v1/notes.mcpb", true},
		{mcpbPackage, "github:acme/notes/v1/other.mcpb", false},
	} {
		d, err := Parse([]byte(doc("packages", `[`+c.pkg+`]`)))
		if err != nil {
			t.Fatal(err)
		}
		ref := parse(t, c.ref)
		if d.Packages[0].Gives(ref) != c.want || d.Covers(ref) != c.want {
			t.Errorf("%s gives %s: %t, covers %t", c.pkg, c.ref, !c.want, d.Covers(ref))
		}
	}
	if (Package{RegistryType: "x"}).Gives(artifact.Ref{}) ||
		(&Document{Packages: []Package{{}}}).Covers(artifact.Ref{}) {
		t.Error("nothing gives nothing")
	}
}
