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
	must(t, errors.Join(os.Chown(d, anna, team), os.Chmod(d, mode)))
	return startUser(t, d, syscall.Credential{Uid: bert, Gid: bert, Groups: []uint32{team}})
}

// changes are the ways to make b of the only line, a, of a file.
var changes = map[string]func(p *process, path string) reply{
	"edit":  func(p *process, path string) reply { return p.replace(path, "a", "b") },
	"write": func(p *process, path string) reply { return p.write(path, "b\n", sum([]byte("a\n")).String()) },
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
		for way, change := range changes {
			t.Run(c.what+" "+way, func(t *testing.T) {
				d := dir(t)
				path := write(t, d, "f", "a\n")
				must(t, errors.Join(os.Chown(path, anna, c.group), os.Chmod(path, c.mode)))
				change(startBert(t, d, c.dir), path).ok().says(c.notices...).not(c.notNotices...)
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
	for _, change := range changes {
		change(p, path).refused("io").says("the system denies access (permission denied)")
	}
	if content(t, path) != "a\n" {
		t.Error("written")
	}
	must(t, os.Chmod(d, 0o755))
	p.write(filepath.Join(d, "new"), "x").refused("io").says("(permission denied)")
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
		p.write(path, "b\n", sum([]byte("a\n")).String()).ok()
		if after := read(path); after != before {
			t.Errorf("listed %t: %q became %q", listed, before, after)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o664 {
			t.Errorf("%v, %v", st.Mode(), err)
		}
		// A new file gets what the directory gives.
		made := filepath.Join(d, "new")
		p.write(made, "b\n").ok()
		if !strings.Contains(read(made), string(binary.LittleEndian.AppendUint32(nil, bert))) {
			t.Errorf("%q", read(made))
		}
	}
}
