//go:build unix

package script

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hallmark-mcp/hallmark/e2e/sarifschema"
)

func usage(ts *testscript.TestScript, ok bool, text string) {
	if !ok {
		ts.Fatalf("usage: %s", text)
	}
}

// code CODE PROGRAM [ARGUMENT...]
//
// The program must end with exactly this exit code.
func code(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 1, "code CODE PROGRAM [ARGUMENT...]")
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
	if f, ok := ts.Value(followerKey{}).(*follower); ok && got != 0 && args[1] == "hallmark" && len(args) > 2 {
		f.follow(ts, args[2:])
	}
}

// approve NAME [ARGUMENT...]
//
// This machine approves what 'hallmark review NAME' shows, by its digest.
func approve(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 0, "approve NAME [ARGUMENT...]")
	ts.Exec("hallmark", append([]string{"review", "--json"}, args...)...) // refused, and says the digest
	var shown struct{ Consent, Error string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &shown))
	if shown.Consent == "" {
		ts.Fatalf("nothing to approve: %s", shown.Error)
	}
	ts.Check(ts.Exec("hallmark", append([]string{"review", "--approve", shown.Consent}, args...)...))
}

// [!] json FILE KEY... PATTERN
//
// FILE, or stdout, is one JSON document, in which the value under the keys, printed
// without quotes, matches the whole pattern. With "!" there is no such value.
func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) > 1, "json FILE KEY... PATTERN")
	keys, pattern := args[1:len(args)-1], args[len(args)-1]
	text, found := lookUp(ts, args[0], keys)
	if !found && !neg {
		ts.Fatalf("%s: nothing at %q", args[0], keys)
	}
	if found && regexp.MustCompile(`^(?s:`+pattern+`)$`).MatchString(text) == neg {
		ts.Fatalf("%s: at %q is %q", args[0], keys, text)
	}
}

// sarif FILE
//
// FILE, or stdout, is valid by the schema of SARIF 2.1.0.
func sarif(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "sarif FILE")
	ts.Check(sarifschema.Check([]byte(ts.ReadFile(args[0]))))
}

// value VAR FILE KEY...
//
// Set VAR to a value of a JSON document.
func value(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 2, "value VAR FILE KEY...")
	text, found := lookUp(ts, args[1], args[2:])
	if !found {
		ts.Fatalf("%s: nothing at %q", args[1], args[2:])
	}
	ts.Setenv(args[0], text)
}

// lookUp prints the value under keys. An array has the key length, too.
func lookUp(ts *testscript.TestScript, file string, keys []string) (text string, found bool) {
	var v any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("%s: %v", file, err)
	}
	if d.More() {
		ts.Fatalf("%s: more than one JSON document", file)
	}
	for _, key := range keys {
		var next any
		switch x := v.(type) {
		case map[string]any:
			next = x[key]
		case []any:
			if i, err := strconv.Atoi(key); err == nil && i < len(x) {
				next = x[i]
			}
			if key == "length" {
				next = json.Number(strconv.Itoa(len(x)))
			}
		}
		if v = next; v == nil {
			break
		}
	}
	switch x := v.(type) {
	case nil:
		return "", false
	case string:
		return x, true
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	ts.Check(e.Encode(v))
	return strings.TrimSuffix(out.String(), "\n"), true
}

// sha256 VAR FILE
//
// Set VAR to the digest of FILE, or of npm:NAME@VERSION: a tarball of the registry; and
// VAR_SIZE to its size.
func sha256Of(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "sha256 VAR FILE")
	var data []byte
	if name, ok := strings.CutPrefix(args[1], "npm:"); ok {
		at := strings.LastIndexByte(name, '@')
		data = npmOf(ts).Tarball(name[:at], name[at+1:])
	} else {
		data = []byte(ts.ReadFile(args[1]))
	}
	if data == nil {
		ts.Fatalf("no %s", args[1])
	}
	sum := sha256.Sum256(data)
	ts.Setenv(args[0], "sha256:"+hex.EncodeToString(sum[:]))
	ts.Setenv(args[0]+"_SIZE", strconv.Itoa(len(data)))
}

// zip FILE DIR
//
// Make FILE a zip of the files of DIR.
func zipOf(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "zip FILE DIR")
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	z := zip.NewWriter(f)
	ts.Check(z.AddFS(os.DirFS(ts.MkAbs(args[1]))))
	ts.Check(errors.Join(z.Close(), f.Close()))
}

// [!] find VAR DIR SUFFIX
//
// Set VAR to the only file below DIR whose path ends with SUFFIX. With "!" there is none.
func find(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 3, "find VAR DIR SUFFIX")
	var found []string
	filepath.WalkDir(ts.MkAbs(args[1]), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(filepath.ToSlash(path), args[2]) {
			found = append(found, path)
		}
		return nil
	})
	switch {
	case neg && len(found) > 0:
		ts.Fatalf("there is %q", found)
	case !neg && len(found) != 1:
		ts.Fatalf("%d files end with %s: %q", len(found), args[2], found)
	case !neg:
		ts.Setenv(args[0], found[0])
	}
}

// flip FILE
//
// Change one bit in the middle of a file, also of a read-only one.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "flip FILE")
	change(ts, args[0], func(data []byte) []byte {
		data[len(data)/2] ^= 1
		return data
	})
}

// edit FILE OLD NEW
//
// Replace the only occurrence of OLD.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 3, "edit FILE OLD NEW")
	change(ts, args[0], func(data []byte) []byte {
		if n := bytes.Count(data, []byte(args[1])); n != 1 {
			ts.Fatalf("%s holds %q %d times", args[0], args[1], n)
		}
		return bytes.Replace(data, []byte(args[1]), []byte(args[2]), 1)
	})
}

// expand FILE...
//
// Replace each ${NAME} by the variable of that name, in place.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 0, "expand FILE...")
	variable := regexp.MustCompile(`\$\{(\w+)\}`)
	for _, name := range args {
		change(ts, name, func(data []byte) []byte {
			return variable.ReplaceAllFunc(data, func(m []byte) []byte {
				return []byte(ts.Getenv(string(m[2 : len(m)-1])))
			})
		})
	}
}

// append FILE TEXT
func appendTo(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "append FILE TEXT")
	change(ts, args[0], func(data []byte) []byte { return append(data, args[1]+"\n"...) })
}

func change(ts *testscript.TestScript, name string, edit func([]byte) []byte) {
	name = ts.MkAbs(name)
	st, err := os.Stat(name)
	ts.Check(err)
	data, err := os.ReadFile(name)
	ts.Check(err)
	ts.Check(os.Chmod(name, 0o600))
	ts.Check(os.WriteFile(name, edit(data), 0o600))
	ts.Check(os.Chmod(name, st.Mode().Perm()))
}

// remember DIR
//
// Keep names and contents of all files below DIR in mind, for unchanged.
func remember(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "remember DIR")
	ts.Setenv("REMEMBERED "+args[0], listing(ts, args[0]))
}

// unchanged DIR
//
// All below DIR is as it was when it was remembered.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "unchanged DIR")
	if got, want := listing(ts, args[0]), ts.Getenv("REMEMBERED "+args[0]); got != want {
		ts.Fatalf("%s changed from\n%s\nto\n%s", args[0], want, got)
	}
}

// listing leaves out locks, which hold a process id, and is empty for no directory.
func listing(ts *testscript.TestScript, dir string) string {
	var out strings.Builder
	root := ts.MkAbs(dir)
	ts.Check(filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == root {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || e.IsDir() || rel == ".authority.pem" {
			return err
		}
		var data []byte
		if e.Type()&fs.ModeSymlink != 0 {
			var to string
			to, err = os.Readlink(path)
			data = []byte(to)
		} else {
			data, err = os.ReadFile(path)
		}
		fmt.Fprintf(&out, "%s %v %x\n", rel, e.Type(), sha256.Sum256(data))
		return err
	}))
	return out.String()
}

// plain FILE...
//
// FILE, or stdout or stderr, holds nothing that a terminal would obey or hide:
// controls but line feed, format characters and tags.
func plain(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 0, "plain FILE...")
	for _, name := range args {
		for i, r := range ts.ReadFile(name) {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				ts.Fatalf("%s: %+q at byte %d", name, r, i)
			}
		}
	}
}
