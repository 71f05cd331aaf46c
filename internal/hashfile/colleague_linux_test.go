package hashfile

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Ids of two colleagues and of their group. No account has to have them.
const (
	anna = 61001
	bert = 61002
	team = 61003
)

// startBert starts a server for d, which has a mode, as a user that is in the group team.
func startBert(t *testing.T, d string, mode os.FileMode) *process {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	self, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(self)
	must(t, err)
	place := t.TempDir()
	copied, locks := filepath.Join(place, "server"), filepath.Join(place, "locks")
	must(t, errors.Join(os.WriteFile(copied, program, 0o755), os.Mkdir(locks, 0o700), os.Chown(locks, bert, bert),
		os.Chown(d, anna, team), os.Chmod(d, mode),
		os.Chmod(filepath.Dir(place), 0o755), os.Chmod(filepath.Dir(d), 0o755)))
	return startAs(t, copied, Config{Roots: []string{d}, Locks: locks},
		&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: bert, Gid: bert, Groups: []uint32{team}}})
}

// change makes a server replace the only line of a file, or write the file whole.
func change(p *process, tool, path string) processReply {
	args := arguments{"path": path, "file_hash": sum([]byte("a\n")).String()}
	if tool == "edit_text_file" {
		args["operations"] = ops(replaceOp("1:8c", "b"))
	} else {
		args["content"] = "b\n"
	}
	r, err := p.call(tool, args)
	if err != nil {
		return processReply{Error: &struct{ Message string }{err.Error()}}
	}
	return r
}

// TestColleague edits files that belong to somebody else and that the server may write: what cannot be kept is said,
// and nobody gets more access than before.
func TestColleague(t *testing.T) {
	for _, c := range []struct {
		what                string
		dir, mode           os.FileMode
		group               int
		wantUID, wantGID    uint32
		wantMode            uint32
		notices, notNotices []string
	}{
		{"common group", 0o775, 0o664, team, bert, team, 0o664,
			[]string{"[owner: was 61001, is now 61002]"}, []string{"group:", "mode:", "atomic"}},
		{"setgid directory", os.ModeSetgid | 0o775, 0o664, team, bert, team, 0o664,
			[]string{"[owner: "}, []string{"group:", "atomic"}},
		{"setuid", 0o775, os.ModeSetuid | os.ModeSetgid | 0o775, team, bert, team, 0o775,
			[]string{"[owner: ", "[mode: was 6775, is now 0775]"}, []string{"group:"}},
		{"another group", 0o775, 0o676, anna, bert, bert, 0o666,
			[]string{"[owner: ", "[group: was 61001, is now 61002]", "[mode: was 0676, is now 0666]"}, nil},
		{"directory not writable", 0o755, 0o664, team, anna, team, 0o664,
			[]string{"[not atomic: "}, []string{"owner:", "group:"}},
		{"sticky directory", os.ModeSticky | 0o777, 0o664, team, anna, team, 0o664,
			[]string{"[not atomic: "}, []string{"owner:", "group:"}},
		{"setuid in place", 0o755, os.ModeSetuid | 0o775, team, anna, team, 0o775,
			[]string{"[not atomic: ", "[mode: "}, nil},
	} {
		for _, tool := range []string{"edit_text_file", "write_text_file"} {
			t.Run(c.what+" "+tool, func(t *testing.T) {
				d := dir(t)
				path := write(t, d, "f", "a\n")
				must(t, errors.Join(os.Chown(path, anna, c.group), os.Chmod(path, c.mode)))
				r := change(startBert(t, d, c.dir), tool, path)
				if r.Error != nil || r.Result.IsError {
					t.Fatal(r)
				}
				text := r.Result.Content[0].Text
				for _, want := range c.notices {
					if !strings.Contains(text, want) {
						t.Errorf("%q does not say %s", text, want)
					}
				}
				for _, not := range c.notNotices {
					if strings.Contains(text, not) {
						t.Errorf("%q says %s", text, not)
					}
				}
				info, err := os.Stat(path)
				must(t, err)
				st := info.Sys().(*syscall.Stat_t)
				if st.Uid != c.wantUID || st.Gid != c.wantGID || st.Mode&0o7777 != c.wantMode ||
					content(t, path) != "b\n" {
					t.Errorf("%d:%d %o %q", st.Uid, st.Gid, st.Mode&0o7777, content(t, path))
				}
				if left, _ := os.ReadDir(d); len(left) != 1 {
					t.Errorf("%v", left)
				}
			})
		}
	}
}

// TestColleagueRefused does not edit what the server may not write, whatever its directory allows, and says why.
func TestColleagueRefused(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "a\n")
	must(t, errors.Join(os.Chown(path, anna, team), os.Chmod(path, 0o644)))
	p := startBert(t, d, 0o777)
	for _, tool := range []string{"edit_text_file", "write_text_file"} {
		r := change(p, tool, path)
		if r.Error != nil || !r.Result.IsError ||
			!strings.Contains(r.Result.Content[0].Text, "the system denies access (permission denied)") {
			t.Errorf("%v", r)
		}
	}
	if content(t, path) != "a\n" {
		t.Error("written")
	}
	must(t, os.Chmod(d, 0o755))
	r, err := p.call("write_text_file", arguments{"path": filepath.Join(d, "new"), "content": "x"})
	if err != nil || !r.Result.IsError || !strings.Contains(r.Result.Content[0].Text, "(permission denied)") {
		t.Errorf("%v, %v", r, err)
	}
}

// accessList is an access control list: for the owner, a named user, the group, its mask, and others.
func accessList(named uint32, bits uint16) []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, bits uint16
		id        uint32
	}{{1, 6, ^uint32(0)}, {2, bits, named}, {4, 6, ^uint32(0)}, {0x10, 6, ^uint32(0)}, {0x20, 4, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.bits)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	return list
}

// TestAccessLists keeps the access control list of a file that is replaced, and takes none from the directory.
func TestAccessLists(t *testing.T) {
	const kept, given = "system.posix_acl_access", "system.posix_acl_default"
	read := func(path string) string {
		buf := make([]byte, 1000)
		n, err := unix.Getxattr(path, kept, buf)
		if err != nil {
			return err.Error()
		}
		return string(buf[:n])
	}
	for _, listed := range []bool{true, false} {
		d := dir(t)
		path := write(t, d, "f", "a\n")
		must(t, os.Chmod(path, 0o664))
		if listed {
			if err := unix.Setxattr(path, kept, accessList(anna, 4), 0); err != nil {
				t.Skip(err) // the file system has none
			}
		}
		must(t, unix.Setxattr(d, given, accessList(bert, 6), 0))
		before := read(path)
		p := serve(t, d)
		p.call("write_text_file",
			arguments{"path": path, "content": "b\n", "file_hash": sum([]byte("a\n")).String()}).ok()
		if after := read(path); after != before {
			t.Errorf("listed %t: %q became %q", listed, before, after)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o664 {
			t.Errorf("%v, %v", st.Mode(), err)
		}
		// A new file gets what the directory gives.
		made := filepath.Join(d, "new")
		p.call("write_text_file", arguments{"path": made, "content": "b\n"}).ok()
		if !strings.Contains(read(made), string(binary.LittleEndian.AppendUint32(nil, bert))) {
			t.Errorf("%q", read(made))
		}
	}
}
