package closure

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// program writes a program of Linux that names a loader, or none.
func program(t *testing.T, loader string) string {
	t.Helper()
	const head, segment = 64, 56
	text := make([]byte, head+segment)
	copy(text, elf.ELFMAG+"\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(text[16:], uint16(elf.ET_EXEC))
	le.PutUint16(text[18:], uint16(elf.EM_X86_64))
	le.PutUint32(text[20:], uint32(elf.EV_CURRENT))
	le.PutUint64(text[32:], head) // where segments are described
	le.PutUint16(text[52:], head)
	le.PutUint16(text[54:], segment)
	if loader != "" {
		le.PutUint16(text[56:], 1)
		le.PutUint32(text[head:], uint32(elf.PT_INTERP))
		le.PutUint64(text[head+8:], head+segment)
		le.PutUint64(text[head+32:], uint64(len(loader)+1))
		text = append(append(text, loader...), 0)
	}
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, text, 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestLibc: which C library a program is for is what its own file says.
func TestLibc(t *testing.T) {
	for loader, want := range map[string]string{"/lib/ld-musl-x86_64.so.1": musl, "/lib64/ld-linux-x86-64.so.2": "glibc",
		"/nix/store/a-glibc/lib/ld-linux-x86-64.so.2": "glibc", "": ""} {
		if got := libcOf(program(t, loader)); got != want {
			t.Errorf("%q: %q, want %q", loader, got, want)
		}
	}
	if got := libcOf(filepath.Join(t.TempDir(), "none")); got != "" {
		t.Errorf("a file that is not there: %q", got)
	}
	if runtime.GOOS != "linux" {
		return
	}
	for loader, want := range map[string]string{"/lib/ld-musl-x86_64.so.1": "-musl", "": "-static", "/lib/ld-linux.so.2": ""} {
		key := NPM{}.PlatformKey(&project.Runtime{Path: program(t, loader), Version: "22"})
		if key != "linux/"+runtime.GOARCH+"+node22"+want {
			t.Errorf("with the loader %q the platform is %s", loader, key)
		}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	ask := "const h = process.report.getReport().header; console.log(h.glibcVersionRuntime ? 'glibc' : 'musl')"
	says, err := exec.Command(node, "-e", ask).Output()
	if got := libcOf(node); err != nil || got != strings.TrimSpace(string(says)) {
		t.Errorf("node says %s, and its file %s (%v)", says, got, err)
	}
}

// TestUnpackHint: only what is wrong with the tarball itself leads to another version of the package.
func TestUnpackHint(t *testing.T) {
	ref, err := artifact.NewNPM("a", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		members []*forge.Member
		inTheWay, changed,
		hint bool
	}{
		"a link":                   {members: []*forge.Member{forge.NewMember("package/a", '2', nil)}, hint: true},
		"a file where it is to be": {inTheWay: true, hint: true},
		"a file that changed":      {changed: true},
	} {
		data := (&forge.Tar{Gzip: true, End: make([]byte, 1024), Members: c.members}).Bytes()
		p := &Packages{dir: t.TempDir(), Files: map[artifact.Ref]string{ref: "a.tgz"},
			sums: map[artifact.Ref]digest.Digest{ref: digest.FromBytes(data)}}
		if c.changed {
			data[4]++ // the time of the gzip, which nothing else reads
		}
		err := os.WriteFile(filepath.Join(p.dir, "a.tgz"), data, 0o600)
		if c.inTheWay {
			err = errors.Join(err, os.WriteFile(filepath.Join(p.dir, "node_modules"), nil, 0o600))
		}
		at, opened := os.OpenRoot(p.dir)
		if err := errors.Join(err, opened); err != nil {
			t.Fatal(err)
		}
		err = p.unpack(t.Context(), project.ClosurePackage{Ref: ref, Path: "node_modules"}, at, nil)
		var said *evidence.Error
		if !errors.As(err, &said) || said.Subject != ref.String() || (said.Hint != "") != c.hint {
			t.Errorf("%s: %v", what, err)
		}
		if err := at.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
