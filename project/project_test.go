package project

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

const hex64 = "9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e9c1e"

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig([]byte(`manifest_version = 1
[registry]
url = "http://127.0.0.1:8080"

[providers.mcp.notes]
command = "npx"
arguments = ["-y", "@acme/notes@1.4.0"]
variables = ["NOTES_KEY"]

[providers.mcp.tool]
type = "stdio"
command = "./tool"
on_drift = "block"
verify = { type = "file", files = [{ path = "tool", value = "` + hex64 + `" }] }

[providers.mcp.rec]
server = "io.github.acme/notes@1.4.0"

[providers.mcp.old]
command = "./old"
checksum.algorithm = "sha1"
checksum.value = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
`))
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Servers["notes"]; s.Line != 5 || s.OnDrift != "withhold" || s.Type != "stdio" || s.Variables[0] != "NOTES_KEY" || s.Verify != nil {
		t.Errorf("notes: %+v", s)
	}
	if s := c.Servers["tool"]; s.Line != 10 || s.OnDrift != "block" || s.Verify.Type != VerifyFile || s.Verify.Claims[0].Want.Hex() != hex64 {
		t.Errorf("tool: %+v", s)
	}
	if s := c.Servers["old"]; s.Verify == nil || s.Verify.Claims[0].Want.Algorithm() != digest.SHA1 {
		t.Errorf("old: %+v", s)
	}
	if len(c.Warnings) != 2 || !strings.Contains(c.Warnings[1], "line 21: providers.mcp.old.checksum uses sha1") || !strings.Contains(c.Warnings[0], `line 21: providers.mcp.old.checksum is deprecated; write verify = { type = "command", algorithm = "sha1", value = "da39`) {
		t.Errorf("warnings: %q", c.Warnings)
	}
	if c.Servers["rec"].Record != "io.github.acme/notes@1.4.0" || c.Registry.URL != "http://127.0.0.1:8080" {
		t.Errorf("%+v", c)
	}
}

func TestParseConfigErrors(t *testing.T) {
	const head = "manifest_version = 1\n"
	for name, c := range map[string]struct{ text, want string }{
		"syntax":            {head + "[providers\n", "line 2"},
		"no version":        {"", "has no manifest_version; write manifest_version = 1"},
		"registry no url":   {head + "[registry]\nurl = 'registry.example.com'\n", "registry: url is no URL such as https:"},
		"version zero":      {"manifest_version = 0", "manifest_version is 0; this build reads 1"},
		"newer version":     {"manifest_version = 2", "manifest_version is 2"},
		"unknown key":       {head + "[providers.mcp.a]\ncommand='x'\ncomand='y'\n", "line 4, column 1: unknown key providers.mcp.a.comand"},
		"unknown table":     {head + "[provider.mcp.a]\ncommand='x'\n", "unknown key provider"},
		"wrong type":        {head + "[providers.mcp.a]\ncommand=1\n", "line 3, column 9"},
		"nothing to run":    {head + "[providers.mcp.a]\n", "line 2: providers.mcp.a: needs a command"},
		"two things to run": {head + "[providers.mcp.a]\ncommand='x'\nserver='a/b@1.0.0'\n", "both command and server"},
		"unknown server":    {head + "[providers.mcp.a]\ntype='sse'\ncommand='x'\n", `unknown type "sse"; it is "stdio" or "http"`},
		"name":              {head + "[providers.mcp.'../a']\ncommand='x'\n", "a server's name is"},
		"variable value":    {head + "[providers.mcp.a]\ncommand='x'\nvariables=['A=b']\n", `"A=b" is none`},
		"on_drift":          {head + "[providers.mcp.a]\ncommand='x'\non_drift='ask'\n", `on_drift is "ask"`},
		"surface kind":      {head + "[providers.mcp.a]\ncommand='x'\nsurface_kinds=['tools','roots']\n", `surface_kinds has "roots"`},
		"no tools":          {head + "[providers.mcp.a]\ncommand='x'\nsurface_kinds=['prompts']\n", "cannot leave out tools"},
		"verify type":       {head + "[providers.mcp.a]\ncommand='x'\n\n[providers.mcp.a.verify]\ntype='hash'\n", `line 5: providers.mcp.a: verify: unknown type "hash"`},
		"verify no type":    {head + "[providers.mcp.a]\ncommand='x'\nverify={value='" + hex64 + "'}\n", "needs a type"},
		"verify stray":      {head + "[providers.mcp.a]\ncommand='x'\nverify={type='command',path='y',value='" + hex64 + "'}\n", `type "command" has no key "path"`},
		"verify none value": {head + "[providers.mcp.a]\ncommand='x'\nverify={type='none',value='" + hex64 + "'}\n", `type "none" has no key "value"`},
		"verify short":      {head + "[providers.mcp.a]\ncommand='x'\nverify={type='command',value='abcd'}\n", "64 hex digits"},
		"verify md5":        {head + "[providers.mcp.a]\ncommand='x'\nverify={type='command',algorithm='md5',value='abcd'}\n", "neither sha256 nor sha1"},
		"verify no path":    {head + "[providers.mcp.a]\ncommand='x'\nverify={type='file',value='" + hex64 + "'}\n", "needs a path"},
		"verify empty":      {head + "[providers.mcp.a]\ncommand='x'\nverify={type='file',files=[]}\n", "files is empty"},
		"verify two shapes": {head + "[providers.mcp.a]\ncommand='x'\nverify={type='file',path='p',value='" + hex64 + "',files=[]}\n", "both path and files"},
		"verify variant":    {head + "[providers.mcp.a]\ncommand='uvx'\nverify={type='uv_package',algorithm='pep503'}\n", `line 4: providers.mcp.a: verify: unknown type "uv_package"; it is "command", "file" or "none"`},
		"verify stray none": {head + "[providers.mcp.a]\ncommand='x'\nverify.type='none'\nverify.algorithm=''\n", `line 4: providers.mcp.a: verify: type "none" has no key "algorithm"`},
		"verify no digest":  {head + "[providers.mcp.a]\ncommand='x'\nverify={type='command',value='…'}\n", "bytes of text; with value = \"\" 'hallmark verify-server NAME --write' fills it in"},
		"verify unfilled":   {head + "[providers.mcp.a]\ncommand='x'\n[providers.mcp.a.verify]\ntype='command'\n", "line 4: providers.mcp.a: verify: has no value; 'hallmark verify-server"},
		"verify unfilled 2": {head + "[providers.mcp.a]\ncommand='x'\nverify={type='file',files=[{path='p',value=''}]}\n", "verify: p: has no value"},
		"verify algorithm":  {head + "[providers.mcp.a]\ncommand='x'\nverify={type='command',algorithm='',value='" + hex64 + "'}\n", `algorithm "" is neither`},
		"verify string":     {head + "[providers.mcp.a]\ncommand='x'\nverify='none'\n", "line 4, column 8: providers.mcp.a.verify cannot be a value of type string"},
		"checksum string":   {head + "[providers.mcp.a]\ncommand='x'\nchecksum='" + hex64 + "'\n", "line 4, column 10: providers.mcp.a.checksum cannot be a value of type string"},
		"checksum md5":      {head + "[providers.mcp.a]\ncommand='x'\n\nchecksum.algorithm='md5'\nchecksum.value='abcd'\n", `line 5: providers.mcp.a: checksum: algorithm "md5" is neither`},
		"checksum record":   {head + "[providers.mcp.a]\nserver='a/b@1.0.0'\nchecksum.value='abcd'\n", "line 4: providers.mcp.a: checksum: a server run from its record"},
		"verify record":     {head + "[providers.mcp.a]\nserver='a/b@1.0.0'\nverify={type='none'}\n", "verified against that"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseConfig([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if evidence.ClassOf(err) != evidence.Validation {
				t.Errorf("class %v", evidence.ClassOf(err))
			}
		})
	}
}

// shown is the surface of the sample.
func shown(description string) *surface.Surface {
	s, err := surface.New(surface.Listing{Tools: []json.RawMessage{[]byte(`{"name":"add","description":"` + description + `"}`)}})
	if err != nil {
		panic(err)
	}
	return s
}

func sample() (ServerLock, evidence.Report) {
	d := digest.FromBytes
	s := ServerLock{
		Source: "npm", Ref: "npm:@acme/notes@1.4.0",
		Launch:    Server{Command: "npx", Arguments: []string{"<&>"}}.Launch(),
		Artifacts: map[string]digest.Digest{"npm:@acme/notes@1.4.0": d([]byte("tarball"))},
		Closure:   &ClosureLock{Engine: "npm", Lock: d([]byte("lock")), Trees: map[string]digest.Digest{"linux/amd64+node20": d([]byte("tree"))}},
		Entry:     "node_modules/@acme/notes/dist/index.js",
	}
	seen := func(subject string, scheme evidence.Scheme, content string) evidence.Evidence {
		return evidence.Compare(evidence.Claim{Subject: subject, Scheme: scheme, Authority: evidence.Lock},
			evidence.Observed{Digests: []digest.Digest{d([]byte(content))}})
	}
	return s, evidence.Report{
		seen("npm:@acme/notes@1.4.0", evidence.File, "tarball"),
		seen(ClosureSubject("notes"), evidence.File, "lock"),
		seen(TreeSubject("notes", "linux/amd64+node20"), evidence.Tree, "tree"),
		evidence.Compare(evidence.Claim{Subject: SurfaceSubject("notes"), Scheme: evidence.Surface, Authority: evidence.Lock},
			evidence.Observed{Digests: []digest.Digest{shown("Adds.").Digest()}}),
	}
}

func TestLockNeedsAdmission(t *testing.T) {
	s, report := sample()
	var l Lock
	if err := l.Add(policy.Admitted{}, "notes", s, shown("Adds.")); err == nil {
		t.Fatal("the zero Admitted was enough")
	}
	for i := range report {
		less := append(append(evidence.Report{}, report[:i]...), report[i+1:]...)
		v := policy.Judge(policy.Pin, policy.Settings{}, less)
		if err := l.Add(v.Admitted(), "notes", s, shown("Adds.")); err == nil {
			t.Errorf("added without evidence of %s", report[i].Subject)
		}
	}
	if len(l.Servers()) != 0 {
		t.Fatal("a refused Add left an entry")
	}
	v := policy.Judge(policy.Pin, policy.Settings{}, report)
	if err := l.Add(v.Admitted(), "notes", s, shown("Adds.")); err != nil {
		t.Fatal(err)
	}
	// What the entry has already needs no evidence again; anything else does.
	if err := l.Add(policy.Admitted{}, "notes", s, shown("Adds.")); err != nil {
		t.Errorf("unchanged entry: %v", err)
	}
	if got, _ := l.Server("notes"); len(got.SurfaceItems) != 1 || got.Surface.IsZero() {
		t.Errorf("the digests are not those of the surface: %+v", got)
	}
	changed := func(name string, change func(*ServerLock)) {
		next, _ := sample()
		change(&next)
		if err := l.Add(policy.Admitted{}, "notes", next, shown("Adds.")); err == nil {
			t.Errorf("%s was locked without being admitted", name)
		}
	}
	other := digest.FromBytes([]byte("other"))
	changed("another artifact", func(s *ServerLock) { s.Artifacts[s.Ref] = other })
	changed("one more artifact", func(s *ServerLock) { s.Artifacts["npm:more@1.0.0"] = other })
	changed("another package lock", func(s *ServerLock) { s.Closure.Lock = other })
	changed("another tree", func(s *ServerLock) { s.Closure.Trees["linux/amd64+node20"] = other })
	changed("one more tree", func(s *ServerLock) { s.Closure.Trees["darwin/arm64+node20"] = other })
	changed("a record", func(s *ServerLock) { s.Record = &RecordLock{Name: "a/b", Version: "1.0.0", Document: other} })
	changed("a script outside the package", func(s *ServerLock) { s.Entry = "node_modules/@acme/notes/../../evil.js" })
	changed("no closure", func(s *ServerLock) { s.Closure = nil })
	if err := l.Add(policy.Admitted{}, "notes", s, shown("Adds <evil>.")); err == nil {
		t.Error("another surface was locked without being admitted")
	}
	changed("no artifact of its own", func(s *ServerLock) { s.Artifacts = nil })
}

func TestLockRoundTrip(t *testing.T) {
	s, report := sample()
	var l Lock
	if err := l.Add(policy.Judge(policy.Pin, policy.Settings{}, report).Admitted(), "notes", s, shown("Adds.")); err != nil {
		t.Fatal(err)
	}
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseLock(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.Encode()
	if err != nil || !bytes.Equal(data, again) {
		t.Fatalf("second encoding differs: %v\n%s\n%s", err, data, again)
	}
	if !bytes.Contains(data, []byte(`"<&>"`)) {
		t.Error("escaped for HTML")
	}
	empty, err := (&Lock{}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseLock(empty); err != nil {
		t.Errorf("empty lock: %v", err)
	}

	for name, c := range map[string]struct {
		text  string
		class evidence.Class
		want  string
	}{
		"edited digest":    {strings.Replace(string(data), digest.FromBytes([]byte("tarball")).Hex(), hex64, 1), evidence.Integrity, "mismatch"},
		"edited argument":  {strings.Replace(string(data), "npx", "npy", 1), evidence.Integrity, "mismatch"},
		"self in capitals": {strings.Replace(string(data), lockSelf(string(data)), strings.ToUpper(lockSelf(string(data))), 1), evidence.Integrity, "spelled"},
		"without self":     {strings.Replace(string(data), `"self": "sha256:`+lockSelf(string(data))+`",`, "", 1), evidence.Integrity, "absent"},
		"as version 2":     {strings.Replace(string(data), `"lockfile_version": 3`, `"lockfile_version": 2`, 1), evidence.Validation, "self"},
		"newer":            {strings.Replace(string(data), `"lockfile_version": 3`, `"lockfile_version": 4`, 1), evidence.Validation, "this build reads 1 to 3"},
		"conflict":         {"<<<<<<< ours\n" + string(data), evidence.Validation, "merge conflict"},
		"unknown key":      {strings.Replace(string(data), `"source"`, `"sauce"`, 1), evidence.Validation, "sauce"},
		"twice":            {strings.Replace(string(data), `"servers": {`, `"servers": {}, "servers": {`, 1), evidence.Validation, ""},
		"trailing":         {string(data) + "{}", evidence.Validation, ""},
		"empty":            {"", evidence.Validation, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseLock([]byte(c.text))
			if err == nil || evidence.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v (%v), want %v %q", err, evidence.ClassOf(err), c.class, c.want)
			}
		})
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("manifest_version = 1\n[providers.mcp.a]\ncommand='x'\nverify={type='none'}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := ParseConfig(data); err == nil && c.Servers == nil {
			t.Error("no error and no servers")
		}
	})
}

func FuzzParseLock(f *testing.F) {
	s, report := sample()
	var l Lock
	l.Add(policy.Judge(policy.Pin, policy.Settings{}, report).Admitted(), "notes", s, shown("Adds."))
	data, _ := l.Encode()
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLock(data)
		if err != nil {
			return
		}
		if _, err := l.Encode(); err != nil {
			t.Error(err)
		}
	})
}

// A lock comes from a checkout: what Hallmark would not have written is refused even
// if its self digest is right.
func TestForgedEntries(t *testing.T) {
	for name, change := range map[string]func(*ServerLock){
		"entry outside the slot":    func(s *ServerLock) { s.Entry = "../../../../proc/self/cwd/evil.js" },
		"entry of another package":  func(s *ServerLock) { s.Entry = "node_modules/other/index.js" },
		"entry with dots":           func(s *ServerLock) { s.Entry = "node_modules/@acme/notes/../../../x.js" },
		"absolute entry":            func(s *ServerLock) { s.Entry = "/etc/evil.js" },
		"npm without closure":       func(s *ServerLock) { s.Closure = nil },
		"unknown source":            func(s *ServerLock) { s.Source = "shell" },
		"command with entry":        func(s *ServerLock) { s.Source = "command" },
		"ref without digest":        func(s *ServerLock) { s.Ref = "npm:other@1.0.0" },
		"weak digest":               func(s *ServerLock) { s.Artifacts[s.Ref], _ = digest.ParseHex(digest.SHA1, strings.Repeat("a", 40)) },
		"tree that is no sha256":    func(s *ServerLock) { s.Closure.Trees["x"] = digest.Digest{} },
		"surface item without hash": func(s *ServerLock) { s.SurfaceItems["tool:x"] = digest.Digest{} },
		"locked item that varies":   func(s *ServerLock) { s.Varying = slices.Collect(maps.Keys(s.SurfaceItems)) },
		"no item that varies":       func(s *ServerLock) { s.Varying = []string{"task:x"} },
		"items that vary, twice":    func(s *ServerLock) { s.Varying = []string{"tool:x", "tool:x"} },
		"items that vary, unsorted": func(s *ServerLock) { s.Varying = []string{"tool:y", "tool:x"} },
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := sample()
			s.Surface, s.APISurface, s.SurfaceItems = shown("Adds.").Digest(), shown("Adds.").APISurface(), shown("Adds.").ItemDigests()
			change(&s)
			data, err := (&Lock{servers: map[string]ServerLock{"notes": s}}).Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ParseLock(data); evidence.ClassOf(err) != evidence.Validation {
				t.Errorf("got %v, want a validation error", err)
			}
		})
	}
	s, _ := sample()
	s.Surface, s.APISurface = shown("Adds.").Digest(), shown("Adds.").APISurface()
	data, err := (&Lock{servers: map[string]ServerLock{"../evil": s}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseLock(data); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("a name that is a path: %v", err)
	}
}

// The keys of JP that say nothing of what is started are taken, and are no part of what is locked.
func TestKeysOfJP(t *testing.T) {
	const head = "manifest_version = 1\n[providers.mcp.a]\ncommand = \"x\"\n"
	plain, err := ParseConfig([]byte(head))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]time.Duration{
		"optional = true\n": 0, "startup_timeout_secs = 90\n": 90 * time.Second,
		"optional = false\nstartup_timeout_secs = 0\n": math.MaxUint32 * time.Second,
	} {
		c, err := ParseConfig([]byte(head + text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if s := c.Servers["a"]; s.StartupTimeout != want || !reflect.DeepEqual(s.Launch(), plain.Servers["a"].Launch()) {
			t.Errorf("%q: %v, %+v", text, s.StartupTimeout, s.Launch())
		}
	}
	for _, text := range []string{"optional = 1\n", "startup_timeout_secs = -1\n", "startup_timeout_secs = 5000000000\n"} {
		if _, err := ParseConfig([]byte(head + text)); evidence.ClassOf(err) != evidence.Validation {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Everything in a server's table is part of what was accepted.
func TestLaunchCoversTheTable(t *testing.T) {
	base := Server{Command: "x", OnDrift: "withhold"}
	for name, other := range map[string]Server{
		"on_drift":      {Command: "x", OnDrift: "warn"},
		"verify":        {Command: "x", OnDrift: "withhold", Verify: &Verify{Type: VerifyNone}},
		"surface_kinds": {Command: "x", OnDrift: "withhold", Kinds: []string{"tools"}},
		"arguments":     {Command: "x", OnDrift: "withhold", Arguments: []string{"a"}},
		"variables":     {Command: "x", OnDrift: "withhold", Variables: []string{"A"}},
		"server":        {Record: "x", OnDrift: "withhold"},
	} {
		if base.Launch().Digest().String() == other.Launch().Digest().String() {
			t.Errorf("%s is not part of the launch", name)
		}
	}
}

// lockSelf is the hex of a lock's self member.
func lockSelf(lock string) string {
	_, rest, _ := strings.Cut(lock, `"self": "sha256:`)
	return rest[:64]
}
