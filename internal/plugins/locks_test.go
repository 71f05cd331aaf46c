package plugins_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// Locks that hosts and other programs write are read: what they say of the code is compared, and each
// thing that is compared with nothing is named.
func TestLocksOfOtherPrograms(t *testing.T) {
	r := hosttest.NewPluginRoom(t)
	dir := r.Install(r.Zip, plugin.Flags{})
	path := filepath.Join(dir, plugin.LockFile)
	elsewhere := r.Elsewhere()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var ours map[string]any
	if err := json.Unmarshal(data, &ours); err != nil {
		t.Fatal(err)
	}
	base := func(more map[string]any) map[string]any {
		lock := map[string]any{"name": "net", "version": "1.0.0", "installedAt": "2025-09-12T08:30:00.000Z"}
		for name, v := range more {
			lock[name] = v
		}
		return lock
	}
	flags := map[string]any{"STRICT_INTEGRITY": true, "STRICT_CAPABILITIES": false, "PLUGIN_ALLOW_RUNTIME_DEPS": false}
	host := base(map[string]any{"distHash": ours["distHash"], "signatureVerified": false, "signerKeyId": nil})
	hostFull := base(map[string]any{"distHash": ours["distHash"], "signatureVerified": true, "signerKeyId": nil,
		"fileCount": ours["fileCount"], "totalBytes": ours["totalBytes"], "updatedAt": "2025-09-13T08:30:00.000Z",
		"policy": flags})
	second := base(map[string]any{"lockVersion": 2, "distHash": ours["distHash"], "hashes": []any{}, "signatures": []any{},
		"sbom": map[string]any{"path": "sbom.json", "sha256": "x"}, "coverage": "all", "fileCountDeclared": 9,
		"fileCountActual": 9, "totalBytesDeclared": 9, "totalBytesActual": 9, "schemaPathOverride": nil,
		"dependenciesPolicy": "bundled-only", "externalDependenciesCount": 0, "strictCapabilities": false,
		"requireSignature": true, "policy": flags})
	guide := base(map[string]any{"sourceUrl": "https://plugins.example.com/net-1.0.0.zip", "sha256": ours["sha256"],
		"signature": "AAAA", "fileCount": ours["fileCount"], "totalBytes": ours["totalBytes"], "policy": flags})
	with := func(lock map[string]any, name string, v any) map[string]any {
		out := map[string]any{}
		for k, old := range lock {
			out[k] = old
		}
		if out[name] = v; v == nil {
			delete(out, name)
		}
		return out
	}
	const verified = "signatureVerified is the word of whoever wrote the lock"
	for _, c := range []struct {
		name string
		lock map[string]any
		want evidence.Class
		says []string
	}{
		{"of a host", host, evidence.OK, []string{verified, "compared with nothing: installedAt",
			"it does not have sourceUrl, sha256, treeHash, manifestHash, filesHash, signature, policy"}},
		{"of a host, with counts", hostFull, evidence.OK, []string{verified, "installedAt, updatedAt"}},
		{"of a host, version 2", second, evidence.OK, []string{"coverage, dependenciesPolicy, externalDependenciesCount, " +
			"fileCountActual, fileCountDeclared, hashes, lockVersion, sbom, schemaPathOverride, signatures, " +
			"totalBytesActual, totalBytesDeclared"}},
		{"of the guide", with(guide, "signature", nil), evidence.OK, []string{"compared with nothing: sourceUrl, installedAt"}},
		{"of the guide, with names that a terminal would obey", with(with(guide, "signature", nil), "a\u202e\x1b[2J", 1),
			evidence.OK, []string{`"a\u202e\x1b[2J"`}},
		// what they say is compared
		{"of the guide, a false signature", guide, evidence.Signature, nil},
		{"of a host, other code", with(host, "distHash", "sha256:"+strings.Repeat("0", 64)), evidence.Integrity, nil},
		{"of a host, no code", with(host, "distHash", nil), evidence.Integrity, nil},
		{"of a host, a false count", with(hostFull, "fileCount", 99), evidence.Integrity, nil},
		{"of a host, a false size", with(hostFull, "totalBytes", 99), evidence.Integrity, nil},
		{"of a host, another plugin", with(host, "name", "other"), evidence.Integrity, nil},
		{"of a host, another version", with(host, "version", "2.0.0"), evidence.Integrity, nil},
		{"of a host, no date", with(host, "installedAt", nil), evidence.Refused, nil},
		{"of a host, version 2, a demand", with(second, "strictCapabilities", true), evidence.Refused, nil},
		{"of no host, without its policy", with(with(guide, "signature", nil), "policy", nil), evidence.Refused, nil},
		{"of no host, without counts", with(with(guide, "signature", nil), "fileCount", nil), evidence.Refused, nil},
		{"of the guide, a zip of another program", with(with(guide, "signature", nil), "sha256", strings.Repeat("0", 64)),
			evidence.OK, []string{"that the plugin is what was in that zip is not proved"}},
		{"of the guide, no zip", with(with(guide, "signature", nil), "sha256", nil), evidence.Integrity, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := json.Marshal(c.lock)
			if err == nil {
				err = os.WriteFile(path, text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			r.Expect(elsewhere, c.name, c.want)
			r.Expect(r.Host, c.name+", where another was written", refusals...)
			all, err := plugins.Revalidate(t.Context(), elsewhere, r.Dir, plugins.Options{})
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			var said []string
			if all[0].Result != nil {
				for _, w := range all[0].Result.Verdict.Warnings() {
					said = append(said, w.Evidence.Reason)
				}
			}
			for _, says := range c.says {
				if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, says) }) {
					t.Errorf("nothing says %q: %q", says, said)
				}
			}
		})
	}
}

// Each member of a lock that is changed, emptied, null, removed or spelled otherwise is refused on a machine
// that knows nothing of the install, with the class that this table says; what is compared with nothing
// there is ok, and only there. On the machine that installed it the lock is not the one that was written.
func TestInstallLockMembers(t *testing.T) {
	if testing.Short() {
		t.Skip("checks plugins as other tests do, a hundred times")
	}
	const (
		ok        = evidence.OK
		invalid   = evidence.Validation
		integrity = evidence.Integrity
		refused   = evidence.Refused
		signature = evidence.Signature
		never     = evidence.Class(99) // there is no such change
	)
	table := map[string]struct{ change, empty, null, remove evidence.Class }{
		"installLockVersion": {invalid, invalid, invalid, refused},
		"name":               {integrity, invalid, invalid, invalid},
		"version":            {integrity, invalid, invalid, invalid},
		"from":               {invalid, refused, refused, refused},
		"sourceUrl":          {ok, refused, refused, refused},
		"sha256":             {refused, refused, refused, refused},
		"distHash":           {integrity, refused, refused, refused},
		"treeHash":           {integrity, integrity, integrity, integrity},
		"manifestHash":       {integrity, refused, refused, refused},
		"filesHash":          {integrity, refused, refused, refused},
		"installedAt":        {ok, invalid, refused, refused},
		"signature":          {signature, refused, refused, refused},
		"signerKeyId":        {signature, refused, refused, refused},
		"fileCount":          {integrity, integrity, refused, refused},
		"totalBytes":         {integrity, integrity, refused, refused},
		"policy":             {never, refused, invalid, refused},

		"policy.PLUGIN_ALLOW_RUNTIME_DEPS": {ok, never, refused, refused},
		"policy.PLUGIN_ALLOW_NATIVE":       {ok, never, refused, refused},
		"policy.SANDBOX_AVAILABLE":         {ok, never, refused, refused},
		"policy.REQUIRE_SIGNATURES":        {ok, never, refused, refused},
		"policy.STRICT_INTEGRITY":          {ok, never, refused, refused},
		"policy.STRICT_CAPABILITIES":       {refused, never, refused, refused},
		"policy.STRICT_TOOLS":              {refused, never, refused, refused},
	}
	r := hosttest.NewPluginRoom(t)
	path := filepath.Join(r.Install(r.Zip, plugin.Flags{RequireSignatures: true}), plugin.LockFile)
	elsewhere := r.Elsewhere()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changes := lockChanges(t, data)
	for member, of := range table {
		for verb, want := range map[string]evidence.Class{"change": of.change, "empty": of.empty, "null": of.null,
			"remove": of.remove, "respell": invalid} {
			what := verb + " " + member
			text, made := changes[what]
			if made != (want != never) {
				t.Errorf("%s: made is %v, and the table says %v", what, made, want)
			}
			if !made {
				continue
			}
			delete(changes, what)
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			if got, err := r.Class(elsewhere, plugin.Flags{}); got != want {
				t.Errorf("%s: %s, want %s: %v", what, got, want, err)
			}
			r.Expect(r.Host, what+", where it was installed", refusals...)
		}
	}
	for what := range changes { // of no single member, or of one that the table lacks
		if verb, member, found := strings.Cut(what, " "); found && slices.Contains([]string{"change", "empty", "null",
			"remove"}, verb) {
			t.Errorf("the table lacks %s", member)
		}
	}
}
