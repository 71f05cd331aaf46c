package plugins_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// refusals are the classes of a refusal; operation decides nothing.
var refusals = []evidence.Class{evidence.Integrity, evidence.Signature, evidence.Refused, evidence.Validation}

// lockChanges generates every change of one member of a lock: removed, emptied, and another
// value. Names say what was done.
func lockChanges(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	var walk func(at string, o map[string]any, rebuild func(map[string]any) any)
	put := func(name string, v any) {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = data
	}
	walk = func(at string, o map[string]any, rebuild func(map[string]any) any) {
		with := func(name string, v any, cut bool) any {
			c := maps.Clone(o)
			if c[name] = v; cut {
				delete(c, name)
			}
			return rebuild(c)
		}
		for name, v := range o {
			path := at + name
			put("remove "+path, with(name, nil, true))
			put("null "+path, with(name, nil, false))
			c := maps.Clone(o)
			delete(c, name)
			c[strings.ToUpper(name[:1])+strings.ToLower(name[1:])] = v
			put("respell "+path, rebuild(c))
			switch v := v.(type) {
			case string:
				put("empty "+path, with(name, "", false))
				other := []byte(v)
				i := len(other) / 2
				for other[i] == ':' || other[i] == '.' { // a time stays one
					i++
				}
				if other[i] == '1' {
					other[i] = '2'
				} else {
					other[i] = '1'
				}
				put("change "+path, with(name, string(other), false))
			case float64:
				put("empty "+path, with(name, 0, false))
				put("change "+path, with(name, v+1, false))
			case bool:
				put("change "+path, with(name, !v, false))
			case map[string]any:
				put("empty "+path, with(name, map[string]any{}, false))
				walk(path+".", v, func(c map[string]any) any { return with(name, c, false) })
			}
		}
		put("add "+at+"more", with("more", true, false))
	}
	var lock map[string]any
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	walk("", lock, func(c map[string]any) any { return c })
	put("name and version alone", map[string]any{"name": lock["name"], "version": lock["version"]})
	put("an older one of name and version",
		map[string]any{"name": lock["name"], "version": lock["version"], "installedAt": lock["installedAt"],
			"fileCount": lock["fileCount"], "totalBytes": lock["totalBytes"], "policy": lock["policy"]})
	put("nothing", map[string]any{})
	put("an array", []any{lock})
	out["no bytes"] = nil
	out["cut off"] = text[:len(text)/2]
	return out
}

// harmlessElsewhere are the changes of a lock that a machine which did not install the
// plugin does not refuse, and why. On the one that did, none is harmless.
var harmlessElsewhere = map[string]string{
	"change sourceUrl":   "where the plugin came from is compared with nothing; the command says so",
	"change installedAt": "as the source",

	"change policy.PLUGIN_ALLOW_RUNTIME_DEPS": "a lock gives no right, and this plugin needs none",
	"change policy.PLUGIN_ALLOW_NATIVE":       "as above",
	"change policy.SANDBOX_AVAILABLE":         "as above",
	"change policy.REQUIRE_SIGNATURES":        "demands more, which holds",
	"change policy.STRICT_INTEGRITY":          "as above",
}

// Whoever removes, empties or changes a member of an install.lock.json, or all of it, gains
// nothing: on the machine that installed the plugin, and on one that has only the files.
func TestInstallLockRemovals(t *testing.T) {
	if testing.Short() {
		t.Skip("checks plugins as other tests do, a hundred times")
	}
	for name, from := range map[string]func(*hosttest.PluginRoom) string{
		"zip":         func(r *hosttest.PluginRoom) string { return r.Zip },
		"foreign zip": func(r *hosttest.PluginRoom) string { return r.Other },
		"directory":   func(r *hosttest.PluginRoom) string { return r.Source },
	} {
		t.Run(name, func(t *testing.T) {
			r := hosttest.NewPluginRoom(t)
			path := filepath.Join(r.Install(from(r), plugin.Flags{}), plugin.LockFile)
			elsewhere := r.Elsewhere()
			r.Expect(r.Host, "as installed", evidence.OK)
			foreign := name == "foreign zip" // whose digest only the machine that had it can compare
			if foreign {
				r.Expect(elsewhere, "as installed, elsewhere", evidence.Refused)
			} else {
				r.Expect(elsewhere, "as installed, elsewhere", evidence.OK)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changes := lockChanges(t, before)
			if len(changes) < 60 {
				t.Fatalf("only %d changes", len(changes))
			}
			for what, text := range changes {
				if err := os.WriteFile(path, text, 0o644); err != nil {
					t.Fatal(err)
				}
				r.Expect(r.Host, what, refusals...)
				if harmlessElsewhere[what] == "" || foreign {
					r.Expect(elsewhere, what+", elsewhere", refusals...)
				} else {
					r.Expect(elsewhere, what+", elsewhere", evidence.OK)
				}
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			r.Expect(r.Host, "no lock", evidence.Integrity)
			r.Expect(elsewhere, "no lock, elsewhere", evidence.Integrity)
			if err := os.WriteFile(path, before, 0o644); err != nil {
				t.Fatal(err)
			}
			// What was installed again is known again; without it a false digest of the zip is not.
			if _, err := plugins.Install(t.Context(), elsewhere, from(r), plugins.InstallOptions{Dir: r.Dir}); err !=
				nil {
				t.Fatal(err)
			}
			r.Expect(elsewhere, "installed again, elsewhere", evidence.OK)
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
			r.Expect(r.Host, "the plugin is gone", evidence.Refused)
			if err := os.RemoveAll(r.Dir); err != nil {
				t.Fatal(err)
			}
			r.Expect(r.Host, "all plugins are gone", evidence.Refused)
			if err := os.WriteFile(r.Dir, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			r.Expect(r.Host, "a file in the place of all plugins", evidence.Refused)
			if err := os.Remove(r.Dir); err != nil {
				t.Fatal(err)
			}
			if err := plugins.Forget(t.Context(), r.Host, r.Dir, "net@1.0.0"); err != nil {
				t.Fatal(err)
			}
			r.Expect(r.Host, "and are forgotten", evidence.Operation)
		})
	}
}

// What else lies in the directory of a plugin, or among plugins, is refused, and so is
// each file that is gone, changed, or has a mode that means something.
func TestInstalledFolderHoldsNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("checks plugins as other tests do, a hundred times")
	}
	for _, from := range []string{"zip", "directory"} {
		r := hosttest.NewPluginRoom(t)
		source := r.Zip
		if from == "directory" {
			source = r.Source
		}
		installed := r.Install(source, plugin.Flags{})
		elsewhere := r.Elsewhere()
		type change struct {
			name     string
			do, undo func() error
		}
		var changes []change
		extra := func(name, path string, do func(string) error) {
			changes = append(changes,
				change{name + " " + path, func() error { return do(path) }, func() error { return os.RemoveAll(path) }})
		}
		write := func(path string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("1"), 0o644))
		}
		mkdir := func(path string) error { return os.Mkdir(path, 0o755) }
		link := func(path string) error { return os.Symlink("dist", path) }
		var all []string
		if err := filepath.WalkDir(r.Dir, func(path string, d fs.DirEntry, err error) error {
			if path != r.Dir && filepath.Base(path) != ".hallmark.lock" {
				all = append(all, path)
			}
			if d.IsDir() {
				for _, name := range []string{"extra.js", "extra", ".hidden.js", ".hidden", "MORE.md", "package.json",
					"LICENSE", "a.node", "node_modules"} {
					extra("file", filepath.Join(path, name), write)
					extra("directory", filepath.Join(path, name), mkdir)
					extra("link", filepath.Join(path, name), link)
				}
				extra("file", filepath.Join(path, "node_modules", "x", "index.js"), write)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		// RemoveAll of the file below node_modules leaves the directories.
		for i := range changes {
			if strings.HasSuffix(changes[i].name, filepath.Join("x", "index.js")) {
				top := filepath.Dir(filepath.Dir(strings.TrimPrefix(changes[i].name, "file ")))
				changes[i].undo = func() error { return os.RemoveAll(top) }
			}
		}
		extra("a lock and no plugin", filepath.Join(r.Dir, "x@1.0.0", plugin.LockFile), write)
		changes[len(changes)-1].undo = func() error { return os.RemoveAll(filepath.Join(r.Dir, "x@1.0.0")) }
		away := filepath.Join(r.Dir, "..", "away")
		for _, path := range all {
			info, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			if path != installed {
				changes = append(changes,
					change{"remove " + path, func() error { return os.Rename(path, away) },
						func() error { return os.Rename(away, path) }})
			}
			changes = append(changes,
				change{"link for " + path,
					func() error { return errors.Join(os.Rename(path, away), os.Symlink(away, path)) },
					func() error { return errors.Join(os.Remove(path), os.Rename(away, path)) }})
			if runtime.GOOS != "windows" {
				modes := []fs.FileMode{fs.ModeSetuid, fs.ModeSetgid}
				if info.IsDir() {
					modes = []fs.FileMode{fs.ModeSetuid, fs.ModeSticky}
				}
				for _, mode := range modes {
					changes = append(changes,
						change{fmt.Sprint("chmod ", mode, " ", path),
							func() error { return os.Chmod(path, info.Mode()|mode) },
							func() error { return os.Chmod(path, info.Mode()) }})
				}
			}
			if info.IsDir() {
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string][]byte{"append to": append(slices.Clone(data), 'x'), "empty": nil} {
				changes = append(changes,
					change{name + " " + path, func() error { return os.WriteFile(path, text, 0o644) },
						func() error { return os.WriteFile(path, data, 0o644) }})
			}
		}
		for _, c := range changes {
			if err := c.do(); err != nil {
				t.Fatal(c.name, err)
			}
			r.Expect(r.Host, from+": "+c.name, refusals...)
			r.Expect(elsewhere, from+": "+c.name+", elsewhere", refusals...)
			if err := c.undo(); err != nil {
				t.Fatal(c.name, err)
			}
		}
		r.Expect(r.Host, "all undone", evidence.OK)
		r.Expect(elsewhere, "all undone, elsewhere", evidence.OK)
		// What is ours, and what desktops and version control leave, means nothing.
		for _, name := range []string{".hallmark-123.tmp/x", ".gitignore", ".gitkeep", ".DS_Store"} {
			if err := write(filepath.Join(r.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		r.Expect(r.Host, "what may lie there", evidence.OK)
	}
}

// A plugin that this machine did not install, beside one that it did, is missed in its
// record, however whole its lock is; the directory of plugins is the one that it was.
func TestPluginsOfOthers(t *testing.T) {
	r := hosttest.NewPluginRoom(t)
	r.Install(r.Zip, plugin.Flags{})
	theirs := hosttest.NewPluginRoom(t)
	hosttest.WritePlugin(t, theirs.Source, "evil", nil, map[string]string{"dist/index.js": "1"})
	if _, err := plugins.Hash(t.Context(), theirs.Source, plugins.HashOptions{Write: true}); err != nil {
		t.Fatal(err)
	}
	evil := theirs.Install(theirs.Source, plugin.Flags{})
	planted := filepath.Join(r.Dir, filepath.Base(evil))
	if err := os.CopyFS(planted, os.DirFS(evil)); err != nil {
		t.Fatal(err)
	}
	r.Expect(r.Host, "planted", evidence.Refused)
	r.Expect(r.Elsewhere(), "planted, where nothing is known", evidence.OK)
	// A person can accept it.
	if _, err := plugins.Lock(t.Context(), r.Host, planted, plugins.Options{}); err != nil {
		t.Fatal(err)
	}
	r.Expect(r.Host, "accepted", evidence.OK)
	if err := plugins.Forget(t.Context(), r.Host, r.Dir, "evil@1.0.0"); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("what is there is forgotten: %v", err)
	}
	// The whole directory in the place of ours, as itself and behind a link.
	if err := errors.Join(os.Rename(r.Dir, r.Dir+"-away"), os.Symlink(theirs.Dir, r.Dir)); err != nil {
		t.Fatal(err)
	}
	r.Expect(r.Host, "a link to theirs", evidence.Refused, evidence.Integrity)
	if err := errors.Join(os.Remove(r.Dir), os.CopyFS(r.Dir, os.DirFS(theirs.Dir))); err != nil {
		t.Fatal(err)
	}
	r.Expect(r.Host, "a copy of theirs", evidence.Refused, evidence.Integrity)
	if err := errors.Join(os.RemoveAll(r.Dir), os.Rename(r.Dir+"-away", r.Dir)); err != nil {
		t.Fatal(err)
	}
	r.Expect(r.Host, "ours again", evidence.OK)
	// A record that was changed decides nothing in favour.
	records, err := filepath.Glob(filepath.Join(r.Host.Places.State, "plugins", "*.json"))
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	path := records[0]
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range lockChanges(t, before) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		r.Expect(r.Host, "record: "+what, refusals...)
	}
}

// The rights and demands of the host as they are now decide. A lock can only add to what is
// demanded, and a key that is not trusted any more signs nothing.
func TestPresentHostDecides(t *testing.T) {
	r := hosttest.NewPluginRoom(t)
	hosttest.WritePlugin(t, r.Source, "net", nil, map[string]string{"dist/index.js": "1", "dist/x.node": "x"})
	if _, err := plugins.Hash(t.Context(), r.Source, plugins.HashOptions{Write: true}); err != nil {
		t.Fatal(err)
	}
	rights := plugin.Flags{AllowNative: true, SandboxAvailable: true}
	path := filepath.Join(r.Install(r.Source, rights), plugin.LockFile)
	elsewhere := r.Elsewhere()
	for _, h := range []*host.Host{r.Host, elsewhere} {
		for _, c := range []struct {
			flags plugin.Flags
			want  evidence.Class
		}{{rights, evidence.OK}, {plugin.Flags{}, evidence.Refused},
			{plugin.Flags{AllowNative: true}, evidence.Refused},
			{plugin.Flags{SandboxAvailable: true}, evidence.Refused},
			{plugin.Flags{AllowNative: true, SandboxAvailable: true, StrictCapabilities: true}, evidence.Refused},
			{plugin.Flags{AllowNative: true, SandboxAvailable: true, RequireSignatures: true}, evidence.Signature}} {
			if got, err := r.Class(h, c.flags); got != c.want {
				t.Errorf("%+v: %s, want %s: %v", c.flags, got, c.want, err)
			}
		}
	}
	// Rights that a lock takes are not given by the host.
	edit := func(path, old, with string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), old) {
			t.Fatalf("no %s in %s: %v", old, data, err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, with, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	edit(path, `"PLUGIN_ALLOW_NATIVE": true`, `"PLUGIN_ALLOW_NATIVE": false`)
	if got, err := r.Class(elsewhere, rights); got != evidence.Refused {
		t.Errorf("a right that the lock takes: %s, %v", got, err)
	}
	edit(path, `"PLUGIN_ALLOW_NATIVE": false`, `"PLUGIN_ALLOW_NATIVE": true`)
	// Demands that a lock adds stay in force.
	edit(path, `"STRICT_TOOLS": false`, `"STRICT_TOOLS": true`)
	if got, err := r.Class(elsewhere, rights); got != evidence.Refused {
		t.Errorf("a demand that the lock adds: %s, %v", got, err)
	}

	// Keys that are revoked, or gone; a signature that was cut out of a lock that demands it.
	signed := hosttest.NewPluginRoom(t)
	path = filepath.Join(signed.Install(signed.Zip, plugin.Flags{RequireSignatures: true}), plugin.LockFile)
	elsewhere = signed.Elsewhere()
	signed.Expect(elsewhere, "signed", evidence.OK)
	var lock map[string]any
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &lock)
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(lock, "signature")
	delete(lock, "signerKeyId")
	cut, err := json.Marshal(lock)
	if err == nil {
		err = os.WriteFile(path, cut, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	signed.Expect(elsewhere, "a signature that is demanded, cut out", evidence.Refused)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, h := range []*host.Host{signed.Host, elsewhere} {
		if err := plugins.ChangeTrust(t.Context(), h, func(k *plugin.TrustedKeys) error {
			return k.Revoke("acme", "lost", time.Now())
		}); err != nil {
			t.Fatal(err)
		}
		signed.Expect(h, "a revoked key", evidence.Signature)
		if err := os.Remove(hosttest.TrustedKeysOf(h)); err != nil {
			t.Fatal(err)
		}
		signed.Expect(h, "no keys", evidence.Signature)
	}
	plain := hosttest.NewPluginRoom(t) // signed, and nobody demanded it
	plain.Install(plain.Zip, plugin.Flags{})
	if err := os.Remove(hosttest.TrustedKeysOf(plain.Host)); err != nil {
		t.Fatal(err)
	}
	plain.Expect(plain.Host, "the keys of a signature that the lock records are gone", evidence.Signature)
}

// Locks of other programs and of earlier versions are read as they were documented: what
// they say is compared, and something of them has to say what the code is.
func TestOlderInstallLocks(t *testing.T) {
	r := hosttest.NewPluginRoom(t)
	dir := r.Install(r.Zip, plugin.Flags{})
	path := filepath.Join(dir, plugin.LockFile)
	elsewhere := r.Elsewhere()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old := func(keep ...string) map[string]any {
		var lock map[string]any
		if err := json.Unmarshal(data, &lock); err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(lock, func(name string, _ any) bool {
			return !slices.Contains(append(keep, "name", "version", "installedAt", "fileCount", "totalBytes", "policy"),
				name)
		})
		return lock
	}
	check := func(what string, lock map[string]any, want evidence.Class) {
		t.Helper()
		text, err := json.Marshal(lock)
		if err == nil {
			err = os.WriteFile(path, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Expect(elsewhere, what, want)
		r.Expect(r.Host, what+", where another was written", evidence.Integrity, evidence.Refused, evidence.Validation)
	}
	check("the form of earlier versions",
		old("sourceUrl", "sha256", "distHash", "treeHash", "manifestHash", "signature", "signerKeyId"), evidence.OK)
	check("without the source, as 'plugin lock' wrote it", old("distHash", "treeHash", "manifestHash"), evidence.OK)
	check("before there were further hashes", old("sourceUrl", "sha256", "distHash", "signature"), evidence.OK)
	check("the form of the guide: the zip is the one that packing gives", old("sourceUrl", "sha256"), evidence.OK)
	guide := old("sourceUrl")
	guide["sha256"] = strings.Repeat("0", 64)
	check("the form of the guide, of a zip that another program packed", guide, evidence.OK)
	check("nothing of the code", old("sourceUrl"), evidence.Integrity)
	check("a member of this form, and no version", old("treeHash", "filesHash"), evidence.Refused)
	more := old("distHash")
	more["marketplace"] = "x"
	more["policy"] = map[string]any{"STRICT_INTEGRITY": true, "STRICT_CAPABILITIES": false,
		"PLUGIN_ALLOW_RUNTIME_DEPS": false}
	check("members of another program", more, evidence.OK)
	more["signature"] = "AAAA"
	check("a signature that nobody made", more, evidence.Signature)
	for _, member := range []string{"installedAt", "fileCount", "totalBytes", "policy"} {
		lock := old("distHash")
		delete(lock, member)
		check("without "+member, lock, evidence.Refused)
	}
	for member, v := range map[string]any{"fileCount": 7, "totalBytes": 1, "sha256": strings.Repeat("0", 64)} {
		lock := old("distHash")
		lock[member] = v
		want := evidence.Integrity
		if member == "sha256" { // of a zip that is not here
			want = evidence.OK
		}
		check("false "+member, lock, want)
	}
	// Another name for the directory, as some hosts have it.
	if err := os.Rename(dir, filepath.Join(r.Dir, "net")); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(r.Dir, "net", plugin.LockFile)
	check("a directory without the version", old("distHash"), evidence.OK)
}

// External packages that a host installed beside a plugin are covered by a lock that was
// written then, and by no other.
func TestInstalledModules(t *testing.T) {
	r := hosttest.NewPluginRoom(t)
	hosttest.WritePlugin(t, r.Source, "net",
		map[string]any{"dependenciesPolicy": "external-allowed",
			"externalDependencies": []any{map[string]any{"name": "left", "version": "1.0.0"}}},
		map[string]string{"dist/index.js": "require('left')"})
	if _, err := plugins.Hash(t.Context(), r.Source, plugins.HashOptions{Write: true}); err != nil {
		t.Fatal(err)
	}
	flags := plugin.Flags{AllowRuntimeDeps: true}
	dir := filepath.Join(r.Dir, "net@1.0.0") // as a host may place it
	if err := os.CopyFS(dir, os.DirFS(r.Source)); err != nil {
		t.Fatal(err)
	}
	expect := func(h *host.Host, what string, want ...evidence.Class) {
		t.Helper()
		if got, err := r.Class(h, flags); !slices.Contains(want, got) {
			t.Errorf("%s: %s, want %v: %v", what, got, want, err)
		}
	}
	lock := func() {
		t.Helper()
		in, err := plugins.Lock(t.Context(), r.Host, dir, plugins.Options{Flags: flags})
		if err == nil {
			err = in.Result.Verdict.Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lock()
	elsewhere := r.Elsewhere()
	expect(r.Host, "alone", evidence.OK)
	module := filepath.Join(dir, "node_modules", "left", "index.js")
	if err := errors.Join(os.MkdirAll(filepath.Dir(module), 0o755), os.WriteFile(module, []byte("1"), 0o644),
		os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, h := range []*host.Host{r.Host, elsewhere} {
		expect(h, "installed since", evidence.Integrity)
	}
	lock()
	for _, h := range []*host.Host{r.Host, elsewhere} {
		expect(h, "locked with them", evidence.OK)
		if err := os.WriteFile(module, []byte("2"), 0o644); err != nil {
			t.Fatal(err)
		}
		expect(h, "changed", evidence.Integrity)
		if err := os.WriteFile(module, []byte("1"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("left", filepath.Join(dir, "node_modules", "l")); err != nil {
			t.Fatal(err)
		}
		expect(h, "a link", evidence.Refused, evidence.Integrity)
		if err := os.Remove(filepath.Join(dir, "node_modules", "l")); err != nil {
			t.Fatal(err)
		}
	}
	// An older lock covers none of it.
	path := filepath.Join(dir, plugin.LockFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := plugins.ParseInstallLock(text)
	if err != nil {
		t.Fatal(err)
	}
	l.Format, l.From, l.Files = 0, "", ""
	data, err := l.Encode()
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	expect(elsewhere, "an older lock", evidence.Refused)
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "node_modules")),
		os.Remove(filepath.Join(dir, "package.json"))); err != nil {
		t.Fatal(err)
	}
	expect(elsewhere, "an older lock, alone", evidence.OK)
}
