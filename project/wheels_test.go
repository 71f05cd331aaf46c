package project

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
)

const someHash = "f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0"

const pylock = `lock-version = "1.0"
created-by = "uv"
[[packages]]
name = "server"
version = "1.2.0"
wheels = [{ url = "https://files.example.com/a/server-1.2.0-py3-none-any.whl?x=1", hashes = { sha256 = "` + someHash + `" } }]
[[packages]]
name = "dep"
version = "2"
marker = "sys_platform == 'win32'"
wheels = [
  { name = "dep-2-cp311-cp311-win_amd64.whl", url = "https://files.example.com/other", hashes = { sha256 = "` + someHash + `" } },
  { url = "https://files.example.com/dep-2-py3-none-any.whl", hashes = { sha256 = "` + someHash + `" } },
]
`

// What uv resolved is stored without addresses, sorted, and reads back as it was.
func TestPylock(t *testing.T) {
	c, err := ParsePylock([]byte(pylock), "Server")
	if err != nil {
		t.Fatal(err)
	}
	if c.Engine != EngineUV || c.Root.String() != "pypi:server==1.2.0" || len(c.Packages) != 2 || c.Packages[0].Ref.Name() != "dep" {
		t.Errorf("%+v", c)
	}
	if p := c.Packages[0]; p.Marker != "sys_platform == 'win32'" || len(p.Wheels) != 2 || len(p.Integrity) != 2 {
		t.Errorf("%+v", p)
	}
	stored, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(stored, []byte("example.com")) || !bytes.Contains(stored, []byte(`"dep-2-cp311-cp311-win_amd64.whl": "sha256:`+someHash)) {
		t.Errorf("%s", stored)
	}
	again, err := ParseClosure(stored)
	if err != nil {
		t.Fatal(err)
	}
	if twice, err := again.Encode(); err != nil || !bytes.Equal(stored, twice) {
		t.Errorf("%v\n%s\n%s", err, stored, twice)
	}
}

func TestPipReport(t *testing.T) {
	const report = `{"version": "1", "pip_version": "24", "install": [{"download_info": {"url": "https://files.example.com/server-1.2.0-py3-none-any.whl",
		"archive_info": {"hash": "sha256=x", "hashes": {"sha256": "` + someHash + `"}}}, "is_direct": false, "metadata": {"name": "Server", "version": "1.2.0"}}]}`
	c, err := ParsePipReport([]byte(report), "server", "linux/amd64+cp311")
	if err != nil {
		t.Fatal(err)
	}
	if c.Engine != EnginePip || c.Platform != "linux/amd64+cp311" || c.Root.String() != "pypi:Server==1.2.0" {
		t.Errorf("%+v", c)
	}
	for change, want := range map[string]string{
		`"version": "1",|"version": "2",`:                 "version",
		`server-1.2.0-py3-none-any.whl|server-1.2.tar.gz`: "is no wheel",
		`"` + someHash + `"|"00"`:                         "server-1.2.0-py3-none-any.whl",
		`"Server"|"Other"`:                                "itself is missing",
	} {
		old, now, _ := strings.Cut(change, "|")
		if _, err := ParsePipReport([]byte(strings.Replace(report, old, now, 1)), "server", ""); err == nil || !strings.Contains(err.Error(), want) && want != "itself is missing" {
			t.Errorf("%s: %v", change, err)
		}
	}
}

// What could not be installed from verified wheels alone is refused.
func TestPylockErrors(t *testing.T) {
	for _, x := range []struct{ old, new, want string }{
		{`lock-version = "1.0"`, `lock-version = "2.0"`, "lock-version"},
		{`version = "1.2.0"`, ``, "pypi"},
		{`name = "server"`, `name = "stranger"`, ""},
		{`server-1.2.0-py3-none-any.whl`, `server-1.2.0.tar.gz`, "is no wheel"},
		{`server-1.2.0-py3-none-any.whl`, `..%5cx.whl`, ""},
		{`sha256 = "` + someHash + `"`, `md5 = "00"`, "server-1.2.0-py3-none-any.whl"},
		{`wheels = [{ url`, `other = [{ url`, "has no wheel"},
		{`name = "dep"`, `name = "server"`, "several versions"},
		{`created-by`, `[`, ""},
	} {
		if _, err := ParsePylock([]byte(strings.Replace(pylock, x.old, x.new, 1)), "server"); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", x.new, err)
		}
	}
}

func TestStoredWheelsErrors(t *testing.T) {
	const stored = `{"engine": "uv", "root": "pypi:server==1", "packages": [{"name": "server", "version": "1", "wheels": {"server-1-py3-none-any.whl": "sha256:` + someHash + `"}}]}`
	if _, err := ParseClosure([]byte(stored)); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ old, new string }{
		{`"uv"`, `"npm"`},
		{`"uv"`, `"uv", "extra": 1`},
		{`pypi:server==1`, `npm:server@1.0.0`},
		{`pypi:server==1`, `pypi:server==2`},
		{`pypi:server==1`, `pypi:server==1/server-1-py3-none-any.whl`},
		{`"sha256:`, `"`},
		{`{"server-1-py3-none-any.whl": "sha256:` + someHash + `"}`, `{}`},
		{`server-1-py3-none-any.whl`, `../server.whl`},
		{`server-1-py3-none-any.whl`, `server-1.tar.gz`},
	} {
		if _, err := ParseClosure([]byte(strings.Replace(stored, x.old, x.new, 1))); err == nil {
			t.Errorf("%s is accepted", x.new)
		}
	}
}

// An entry of an image or of a Python package that Hallmark would not have written is
// refused.
func TestLockSources(t *testing.T) {
	d := some(t)
	image := ServerLock{Source: "image", Ref: "oci:oci.example.com/a/b@" + d.String(), Digest: d, APISurface: d, Surface: d}
	image.Artifacts = digests(image.Ref, d)
	python := ServerLock{Source: "pypi", Ref: "pypi:a==1/a-1-py3-none-any.whl", Entry: "a.b:main", APISurface: d, Surface: d,
		Closure: &ClosureLock{Engine: EngineUV, Lock: d, Trees: digests("linux/amd64+x", d)}}
	python.Artifacts = digests(python.Ref, d)
	for name, change := range map[string]func(*ServerLock){
		"":                 func(*ServerLock) {},
		"another digest":   func(s *ServerLock) { s.Digest = other(t) },
		"another artifact": func(s *ServerLock) { s.Artifacts = digests(s.Ref, other(t)) },
		"an entry":         func(s *ServerLock) { s.Entry = "x; y" },
		"a closure":        func(s *ServerLock) { s.Closure = &ClosureLock{Engine: EngineNPM, Lock: d} },
		"a source":         func(s *ServerLock) { s.Source = "command" },
	} {
		s := image
		change(&s)
		if err := s.check(); (err == nil) != (name == "") {
			t.Errorf("image, %s: %v", name, err)
		}
		s = python
		change(&s)
		if err := s.check(); (err == nil) != (name == "" || name == "another artifact") {
			t.Errorf("python, %s: %v", name, err)
		}
	}
}

func some(t *testing.T) digest.Digest  { return digest.FromBytes([]byte(t.Name())) }
func other(t *testing.T) digest.Digest { return digest.FromBytes([]byte("other")) }

func digests(key string, d digest.Digest) map[string]digest.Digest {
	return map[string]digest.Digest{key: d}
}
