package launcher

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// vector is one line of spec/launcher.json.
type vector struct {
	Command  string
	Args     []string
	Launcher string
	Wrapper  string
	Packages []struct {
		Ecosystem       Ecosystem
		Name, Spec, Ref string
		Pin             Pin
	}
	Bin, File, Module, Dir string
	Rest                   []string
	Direct, Shell          bool
	Opaque                 string // a part of the reason
	Versions, Spelled      []string
}

// script is one #! line of spec/launcher.json.
type script struct {
	Interpreter string
	Args        []string
	Opaque      string // a part of the reason, "" if it runs the script alone
}

// TestScriptVectors: a #! line is judged as a server's command line is.
func TestScriptVectors(t *testing.T) {
	_, scripts := document(t)
	if len(scripts) < 30 {
		t.Fatalf("%d scripts", len(scripts))
	}
	for _, v := range scripts {
		got := CheckShebang(v.Interpreter, v.Args, "/project/s4")
		if (got == "") != (v.Opaque == "") || !strings.Contains(got, v.Opaque) {
			t.Errorf("#!%s %q: %q, want %q", v.Interpreter, v.Args, got, v.Opaque)
		}
	}
}

func vectors(t testing.TB) []vector {
	lines, _ := document(t)
	return lines
}

func document(t testing.TB) ([]vector, []script) {
	data, err := os.ReadFile("../spec/launcher.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Format  string
		Lines   []vector
		Scripts []script
		Inner   any // TestInnerVectors
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil || len(file.Lines) < 150 {
		t.Fatalf("%d lines: %v", len(file.Lines), err)
	}
	return file.Lines, file.Scripts
}

func TestParseVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Command+" "+strings.Join(v.Args, " "), func(t *testing.T) {
			got := Parse(v.Command, v.Args)
			if got.Launcher != v.Launcher || got.Shell != v.Shell || got.Direct != v.Direct {
				t.Errorf("launcher %q, shell %v, direct %v", got.Launcher, got.Shell, got.Direct)
			}
			if (got.Opaque == "") != (v.Opaque == "") || !strings.Contains(got.Opaque, v.Opaque) {
				t.Fatalf("opaque %q, want %q", got.Opaque, v.Opaque)
			}
			if v.Opaque != "" {
				return
			}
			if got.Wrapper != v.Wrapper || got.Bin != v.Bin || got.File != v.File || got.Module != v.Module ||
				got.Dir != v.Dir {
				t.Errorf("got %+v", got)
			}
			if !slices.Equal(got.Args, v.Rest) {
				t.Errorf("args %q, want %q", got.Args, v.Rest)
			}
			if len(got.Packages) != len(v.Packages) {
				t.Fatalf("packages %+v", got.Packages)
			}
			all := len(v.Packages) > 0
			for i, want := range v.Packages {
				p := got.Packages[i]
				if p.Ecosystem != want.Ecosystem || p.Name != want.Name || p.Spec != want.Spec || p.Pin != want.Pin ||
					p.Ref.String() != want.Ref {
					t.Errorf("package %d is %+v (%s), want %+v", i, p, p.Ref, want)
				}
				pinned := slices.Contains([]Pin{Version, Digest, Commit}, want.Pin)
				if p.Pinned() != pinned {
					t.Errorf("package %d: Pinned() = %v", i, p.Pinned())
				}
				all = all && pinned
			}
			if got.Pinned() != all {
				t.Errorf("Pinned() = %v", got.Pinned())
			}
			if v.Versions == nil {
				return
			}
			spelled, ok := got.Spell(v.Versions...)
			if !ok || !slices.Equal(spelled, v.Spelled) {
				t.Fatalf("Spell = %q, %v; want %q", spelled, ok, v.Spelled)
			}
			again := Parse(v.Command, spelled)
			if !again.Pinned() || again.Launcher != got.Launcher || !slices.Equal(again.Args, got.Args) {
				t.Errorf("what was spelled reads as %+v", again)
			}
		})
	}
}

func TestSpellRefuses(t *testing.T) {
	uvx := Parse("uvx", []string{"kagimcp"})
	for _, version := range []string{"latest", "1.*", ">=1", "1.0 --from evil", "1.0,evil", "$(x)", "../x", "1.0;x"} {
		if args, ok := uvx.Spell(version); ok {
			t.Errorf("%q is spelled %q", version, args)
		}
	}
	if args, ok := uvx.Spell("<version>"); !ok || args[0] != "kagimcp@<version>" {
		t.Errorf("a placeholder is spelled %q, %v", args, ok)
	}
	if _, ok := uvx.Spell(); ok {
		t.Error("no version for one package")
	}
	if args, ok := Parse("docker", []string{"run", "img"}).Spell("v2"); ok {
		t.Errorf("a tag is spelled %q", args)
	}
	if args, ok := Parse("deno", []string{"run", "https://example.com/x.ts"}).Spell("1.0.0"); ok {
		t.Errorf("a URL is spelled %q", args)
	}
}

// An exact version takes the place of a version only: a word that says more is spelled with all of it, or not at all.
func TestSpellLosesNothing(t *testing.T) {
	for text, want := range map[string]string{
		"npx  pkg@latest --flag x":                      "",
		"npx  pkg@>=1 <2":                               "pkg@<version>",
		"npx  pkg@^1 || ^2":                             "pkg@<version>",
		"npx  pkg@1.0.0 - 2.0.0":                        "pkg@<version>",
		"npx  pkg@1 --flag":                             "",
		"npx  --package=pkg  bin --flag":                "--package=pkg@<version>  bin --flag",
		"npx  github:a/b#semver:^1":                     "github:a/b#<version>",
		"npx  github:a/b#main::path:c":                  "",
		"sh  -c  npx -y pkg --flag 'a b'":               "-c  npx -y pkg@<version> --flag 'a b'",
		"uvx  pkg --flag x":                             "",
		"uvx  pkg 8080":                                 "",
		"uvx  pkg >= 1, <2":                             "pkg@<version>",
		"uvx  pkg; python_version > '3'":                "--from  pkg==<version>; python_version > '3'  pkg",
		"uvx  --with  a,b>=1  pkg":                      "",
		"uvx  --from  git+https://a.example/b#x=y  bin": "--from  git+https://a.example/b@<version>#x=y  bin",
		"uvx  --from  git+https://a.example/b@c#x=y  d": "--from  git+https://a.example/b@<version>#x=y  d",
	} {
		words := strings.Split(text, "  ")
		target := Parse(words[0], words[1:])
		versions := slices.Repeat([]string{"<version>"}, len(target.Packages))
		args, ok := target.Spell(versions...)
		if got := strings.Join(args, "  "); got != want || ok != (want != "") {
			t.Errorf("%s: %s, %v, want %s", text, got, ok, want)
		}
	}
}

func TestLimits(t *testing.T) {
	if got := Parse("npx", make([]string, MaxArguments+1)); got.Opaque == "" {
		t.Error("too many arguments are read")
	}
	if got := Parse("npx", []string{strings.Repeat("a", MaxLength)}); got.Opaque == "" {
		t.Error("too long an argument is read")
	}
}

// TestChangesLoading: of each family, a name that makes a program load or start other code;
// and names beside them that do not.
func TestChangesLoading(t *testing.T) {
	for _, name := range strings.Fields(
		`LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES node_options NODE_PATH PYTHONPATH PYTHONHOME __PYVENV_LAUNCHER__
		LUA_INIT LUA_INIT_5_4 LUA_PATH LUA_PATH_5_3 LUA_CPATH PHPRC PHP_INI_SCAN_DIR DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS DOTNET_ROOT DOTNET_ROOT_X64 CORECLR_PROFILER_PATH COR_PROFILER
		R_PROFILE_USER R_ENVIRON_USER R_LIBS TCLLIBPATH TCL_LIBRARY JULIA_LOAD_PATH JULIA_DEPOT_PATH JULIA_PROJECT GUILE_LOAD_PATH GUILE_LOAD_COMPILED_PATH MONO_PATH GI_TYPELIB_PATH
		AWKPATH AWKLIBPATH VIMINIT PLTCOLLECTS GIT_EXEC_PATH GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_GLOBAL GIT_CONFIG GIT_SSH_COMMAND GIT_EXTERNAL_DIFF
		GLIBC_TUNABLES LOCPATH GCONV_PATH NLSPATH BASH_ENV BASH_FUNC_ls%% PERL5DB RUBYOPT GEM_PATH ERL_FLAGS GTK_MODULES QT_PLUGIN_PATH VK_LAYER_PATH LESSOPEN RUSTC_WRAPPER NPM_CONFIG_NODE_OPTIONS`) {
		if !ChangesLoading(name) {
			t.Errorf("%s is let through", name)
		}
	}
	for _, name := range strings.Fields(
		"HOME KAGI_API_KEY LANG TMPDIR DATABASE_PATH NOTES_PATH CORS_ORIGIN GITHUB_TOKEN GIT_AUTHOR_NAME NODE_ENV " +
			"PYTHONUNBUFFERED PYTHONIOENCODING LUA_VERSION DOTNET_CLI_TELEMETRY_OPTOUT JAVA_HOME TERM R_VERSION") {
		if ChangesLoading(name) {
			t.Errorf("%s is refused", name)
		}
	}
}

// FuzzParse reads any command line without a panic, never takes it for pinned and opaque
// at once, and spells it so that it reads as the same packages, pinned.
func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Command, strings.Join(v.Args, "\x00"))
	}
	version := map[Ecosystem]string{NPM: "1.2.3", JSR: "1.2.3", PyPI: "1.2.3", NuGet: "1.2.3", Go: "v1.2.3",
		OCI: "sha256:" + strings.Repeat("b", 64), Git: strings.Repeat("c", 40)}
	f.Fuzz(func(t *testing.T, command, joined string) {
		args := strings.Split(joined, "\x00")
		got := Parse(command, args)
		if !reflect.DeepEqual(got.words, args) {
			t.Fatalf("words %q", got.words)
		}
		if got.Opaque != "" && got.Direct {
			t.Fatalf("%+v is opaque and direct", got)
		}
		if got.Opaque != "" || len(got.Packages) == 0 {
			return
		}
		versions := make([]string, len(got.Packages))
		for i, p := range got.Packages {
			versions[i] = version[p.Ecosystem]
			if versions[i] == "" {
				return
			}
		}
		spelled, ok := got.Spell(versions...)
		if !ok {
			return
		}
		again := Parse(command, spelled)
		if again.Opaque != "" || !again.Pinned() || len(again.Packages) != len(got.Packages) {
			t.Fatalf("%q %q spelled %q reads as %+v", command, args, spelled, again)
		}
		for i, p := range again.Packages {
			if p.Name != got.Packages[i].Name && p.Ecosystem != Git {
				t.Fatalf("%q became %q", got.Packages[i].Name, p.Name)
			}
		}
	})
}

func TestRequirement(t *testing.T) {
	for _, x := range []struct {
		args []string
		want []string
	}{
		{[]string{"notes"}, []string{"notes"}},
		{[]string{"notes@1.2.3"}, []string{"notes==1.2.3"}},
		{[]string{"notes@latest"}, []string{"notes"}},
		{[]string{"--from", "notes[cli]==1.2", "--with", "mcp<2", "n"}, []string{"notes[cli]==1.2", "mcp<2"}},
		{[]string{"--from", "notes>=1,<2; python_version>'3'", "n"}, []string{"notes>=1,<2 ; python_version>'3'"}},
	} {
		var got []string
		for _, p := range Parse("uvx", x.args).Packages {
			got = append(got, p.Requirement())
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%q: %q, want %q", x.args, got, x.want)
		}
	}
	if got := Parse("npx", []string{"notes@1.2.3"}).Packages[0].Requirement(); got != "" {
		t.Errorf("npm: %q", got)
	}
}

func TestAtDigest(t *testing.T) {
	const sum = "sha256:f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0"
	for image, want := range map[string]string{
		"acme/notes:v2":                   "acme/notes@" + sum,
		"localhost:5000/notes":            "localhost:5000/notes@" + sum,
		"acme/notes:v2@" + sum[:70] + "1": "acme/notes@" + sum,
	} {
		target := Parse("docker", []string{"run", "-v", image + ":x", "--rm", image, image})
		got, ok := target.SpellAtDigest(sum)
		if !ok || !slices.Equal(got, []string{"run", "-v", image + ":x", "--rm", want, image}) {
			t.Errorf("%s: %q", image, got)
		}
		if got, ok := target.SpellAtDigest("v3"); ok {
			t.Errorf("%q", got)
		}
	}
	if got := Parse("docker", []string{"run", "notes"}).Packages[0].Repository(); !strings.HasSuffix(got,
		"/library/notes") {
		t.Error(got)
	}
	if _, ok := Parse("npx", []string{"notes"}).SpellAtDigest(sum); ok {
		t.Error("a package is no image")
	}
}

// TestIgnoredOptions: options that only the launcher follows are named, so that anyone who does without the
// launcher can say so.
func TestIgnoredOptions(t *testing.T) {
	for line, want := range map[string][]string{
		"uvx --python 3.12 kagimcp@0.1.5":                        {"--python 3.12"},
		"uvx -p 3.12 --resolution=lowest kagimcp":                {"-p 3.12", "--resolution lowest"},
		"uv tool run --managed-python kagimcp":                   {"--managed-python"},
		"pipx run --python python3.12 kagimcp==0.1.5":            {"--python python3.12"},
		"uvx --from kagimcp==0.1.5 kagimcp --python mine":        nil, // the server's own
		"npx -p @acme/notes@1.4.0 notes":                         nil, // a package
		"uvx --quiet --no-progress --cache-dir /tmp kagimcp@0.1": nil,
	} {
		words := strings.Fields(line)
		if got := Parse(words[0], words[1:]); !slices.Equal(got.IgnoredOptions, want) || got.Opaque != "" {
			t.Errorf("%s: %q, want %q; %s", line, got.IgnoredOptions, want, got.Opaque)
		}
	}
}

// A line behind "cmd /c" is the line itself, if cmd does nothing else.
func TestUnwrap(t *testing.T) {
	for line, want := range map[string]string{
		"cmd /c uv run --with fastmcp fastmcp run /s.py": "uv run --with fastmcp fastmcp run /s.py",
		"cmd.exe /d /s /C node server.js":                "node server.js",
		"cmd /c cmd /c npx -y notes":                     "npx -y notes",
		"cmd /k npx notes":                               "cmd /k npx notes",
		"cmd /c npx notes & evil":                        "cmd /c npx notes & evil",
		"cmd /c env A=b npx notes":                       "cmd /c env A=b npx notes",
		"cmd /c":                                         "cmd /c",
		"cmd /c cmd /c cmd /c cmd /c cmd /c npx notes":   "cmd /c cmd /c cmd /c cmd /c cmd /c npx notes",
		"npx -y notes":                                   "npx -y notes",
	} {
		words := strings.Fields(line)
		command, args := Unwrap(words[0], words[1:])
		if got := strings.Join(append([]string{command}, args...), " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if command, args := Unwrap("cmd", []string{"/c", "npx -y notes"}); command != "npx" || len(args) != 2 {
		t.Errorf("%s %q", command, args)
	}
	if command, args := Unwrap("cmd", []string{"/c", "", "npx"}); command != "cmd" || len(args) != 3 {
		t.Errorf("nothing is started: %s %q", command, args)
	}
}
