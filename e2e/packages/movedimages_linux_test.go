package packages

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// movedProject is a project with two servers that a facet declares by their images and one of its own,
// all locked. Its engine writes a line into "starts" for each of its processes.
type movedProject struct {
	*imageProject
	images *imageRegistry
	locked map[string]string // digest by server
}

// What each server of a movedProject is.
var movedRepositories = map[string]string{"moves": "acme/moves", "stays": "acme/stays", "own": "acme/own"}

func newMovedProject(t *testing.T) *movedProject {
	t.Helper()
	w, tools := world.New(t), world.Tools(t)
	r := startImages(t, w, false)
	p := &movedProject{newImageProject(t, w, tools, ""), r, map[string]string{}}
	for name, repository := range movedRepositories {
		d, err := pushPlatforms(t, r, repository, "v1", "linux/amd64").Digest()
		if err != nil {
			t.Fatal(err)
		}
		p.locked[name] = d.String()
	}
	image := func(name string) string { return r.Host + "/" + movedRepositories[name] + ":v1" }
	if err := os.Mkdir(filepath.Join(p.dir, "kit"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write(t, "kit/facet.json", `{"name": "kit", "version": "1.0.0", "servers": {"moves": {"image": "`+image("moves")+
		`"}, "stays": {"image": "`+image("stays")+`"}}}`)
	p.write(t, "hallmark.toml", "manifest_version = 1\n[facets]\nkit = { path = \"kit\" }\n[adapters]\n"+
		"targets = [\"claude-code\"]\n[providers.mcp.own]\ncommand = \"docker\"\n"+
		"arguments = [\"run\", \"-i\", \"--rm\", \""+image("own")+"\"]\n")
	p.shows(t, "Say the arguments.")
	for _, args := range [][]string{{"install", "--yes"}, {"pin", "own", "--yes"}} {
		if code, out := p.run(t, p.bin, args...); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, out)
		}
	}
	p.started(t)
	return p
}

// shows makes every server show one tool with a description.
func (p *movedProject) shows(t *testing.T, description string) {
	t.Helper()
	p.write(t, "run", `{"$start": "tr '\\0' ' ' </proc/$PPID/cmdline >>starts; echo >>starts", "tools/list": {"tools": [`+
		`{"name": "args", "description": "`+description+`", "inputSchema": {"type": "object"}}]}}`)
}

// move makes the tag of a server lead to another image, whose digest it returns.
func (p *movedProject) move(t *testing.T, name string) string {
	t.Helper()
	d, err := pushPlatforms(t, p.images, movedRepositories[name], "v1", "linux/amd64").Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// started are the servers that were started since it was called last, by name.
func (p *movedProject) started(t *testing.T) (names []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "starts"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(p.dir, "starts"))
	for line := range strings.Lines(string(data)) {
		for name, repository := range movedRepositories {
			if strings.Contains(line, repository+"@") && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// digests are those of the servers of the lock.
func (p *movedProject) digests(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "hallmark.lock"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Servers map[string]struct {
			Digest string `json:"digest"`
		} `json:"servers"`
	}
	world.Decode(t, data, &lock)
	out := map[string]string{}
	for name, s := range lock.Servers {
		out[name] = s.Digest
	}
	return out
}

// want runs hallmark and demands its exit code and texts in what it prints; "!TEXT" must not be there.
func (p *movedProject) want(t *testing.T, code int, args []string, texts ...string) string {
	t.Helper()
	got, out := p.run(t, p.bin, args...)
	demand(t, args, code, got, out, texts)
	return out
}

func demand(t *testing.T, args []string, want, got int, out string, texts []string) {
	t.Helper()
	if got != want {
		t.Errorf("%v: exit code %d, want %d\n%s", args, got, want, out)
	}
	for _, text := range texts {
		if unwanted, no := strings.CutPrefix(text, "!"); no && strings.Contains(out, unwanted) {
			t.Errorf("%v says %q\n%s", args, unwanted, out)
		} else if !no && !strings.Contains(out, text) {
			t.Errorf("%v does not say %q\n%s", args, text, out)
		}
	}
}

// atTerminal runs hallmark with a terminal at its standard input, at which the answers are typed.
func (p *movedProject) atTerminal(t *testing.T, answers string, args ...string) (code int, output string) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer keys.Close()
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	// Large enough for all that is asked about.
	if err := unix.IoctlSetWinsize(int(keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 200, Col: 500}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang.Long)
	defer cancel()
	c := exec.CommandContext(ctx, p.bin, args...)
	c.Dir, c.Env, c.Stdin = p.dir, p.environ(), screen
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if _, err := keys.WriteString(answers); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String()
}

// TestMovedImages is source 001's "the consumer is notified" for the tag of an image that a facet
// declares, and for one of hallmark.toml: which command says what, with what exit code, what it
// starts, and what it asks.
func TestMovedImages(t *testing.T) {
	t.Parallel()
	p := newMovedProject(t)
	p.want(t, 0, []string{"outdated"}, "!moves")
	p.want(t, 0, []string{"upgrade"}, "unchanged  moves", "unchanged  stays", "unchanged  own")
	p.want(t, 0, []string{"list"}, "  server moves  docker run -i --rm "+p.images.Host+"/acme/moves:v1  "+
		p.locked["moves"], "  server stays  ", "!own")
	p.want(t, 0, []string{"list", "--json"}, `"name": "moves"`, `"current": "`+p.locked["moves"]+`"`)
	moved := map[string]string{"moves": p.move(t, "moves")}
	p.shows(t, "Say all arguments.")
	arrow := p.locked["moves"] + " -> " + moved["moves"]

	// Whoever asks is told, and nothing is started or changed by it.
	p.want(t, 6, []string{"check"}, "oci mismatch", "'hallmark upgrade' shows the new one")
	p.want(t, 0, []string{"check", "--offline"})
	p.want(t, 6, []string{"outdated"}, "moves  "+arrow, "of the facet kit", "oci mismatch", "!stays  ", "!own  ")
	var outdated struct {
		Code    int `json:"exit_code"`
		Servers []struct {
			Name, Facet, Current, Wanted string
			Outdated                     bool
		}
	}
	data, _, code := p.separate(t, "outdated", "--json")
	world.Decode(t, data, &outdated)
	if i := slices.IndexFunc(outdated.Servers, func(s struct {
		Name, Facet, Current, Wanted string
		Outdated                     bool
	}) bool {
		return s.Outdated
	}); code != 6 || outdated.Code != 6 || len(outdated.Servers) != 3 || i < 0 || outdated.Servers[i].Name != "moves" ||
		outdated.Servers[i].Facet != "kit" || outdated.Servers[i].Current != p.locked["moves"] ||
		outdated.Servers[i].Wanted != moved["moves"] {
		t.Errorf("outdated --json: exit code %d\n%s", code, data)
	}
	p.want(t, 0, []string{"upgrade", "--dry-run"}, arrow, "outdated   moves", "not looked at: --start",
		"unchanged  stays", "!was not pinned", "!hallmark pin")
	if names := p.started(t); names != nil {
		t.Errorf("%v were started", names)
	}
	p.want(t, 0, []string{"upgrade", "--dry-run", "--start"}, arrow, "description changed", "!was not pinned")
	if names := p.started(t); !slices.Equal(names, []string{"moves"}) {
		t.Errorf("a dry run started %v", names)
	}

	// A locked install takes what is locked, and does not ask where the tag leads.
	for _, args := range [][]string{{"install"}, {"install", "--frozen"}} {
		p.want(t, 0, args)
	}

	// Without consent nothing changes; what moved is said.
	p.want(t, 4, []string{"upgrade"}, arrow, "moves: needs your consent to be started", "!stays: ")
	code, out := p.atTerminal(t, "n\n", "upgrade")
	demand(t, []string{"upgrade", "n"}, 4, code, out, []string{arrow, "Start it, to see what it shows?", "!stays\n"})
	if names := p.started(t); names != nil {
		t.Errorf("%v were started", names)
	}
	code, out = p.atTerminal(t, "y\nn\n", "upgrade")
	demand(t, []string{"upgrade", "y", "n"}, 4, code, out, []string{"description changed", "Lock this?"})
	if names := p.started(t); !slices.Equal(names, []string{"moves"}) {
		t.Errorf("%v were started", names)
	}
	if now := p.digests(t); now["moves"] != p.locked["moves"] {
		t.Errorf("the lock has %v", now)
	}

	// By name, in two ways that are wrong and one that is right: one question each to start and to lock.
	p.want(t, 2, []string{"upgrade", "moves@v2"}, `is a server of the facet "kit"`, "'hallmark upgrade moves'")
	p.want(t, 2, []string{"upgrade", "move"}, "moves")
	p.want(t, 0, []string{"upgrade", "stays"}, "unchanged  stays", "!moves")
	code, out = p.atTerminal(t, "y\ny\n", "upgrade", "moves")
	demand(t, []string{"upgrade", "y", "y"}, 0, code, out,
		[]string{arrow, "updated    moves  " + arrow, "description changed"})
	if n := strings.Count(out, "[y/N]"); n != 2 {
		t.Errorf("%d questions\n%s", n, out)
	}
	if names := p.started(t); !slices.Equal(names, []string{"moves"}) {
		t.Errorf("%v were started", names)
	}
	now := p.digests(t)
	if now["moves"] != moved["moves"] || now["stays"] != p.locked["stays"] || now["own"] != p.locked["own"] {
		t.Errorf("the lock has %v", now)
	}
	p.want(t, 0, []string{"outdated"}, "!moves")
	p.want(t, 0, []string{"check"})
	code, out = p.run(t, p.client, "-call", "args", p.bin, "run", "moves")
	demand(t, []string{"run"}, 0, code, out, []string{"@" + moved["moves"]})
	p.started(t)

	// Both of a facet's and of hallmark.toml's, beforehand agreed to, as JSON.
	moved["moves"], moved["own"] = p.move(t, "moves"), p.move(t, "own")
	p.want(t, 6, []string{"outdated"}, "moves  ", "own  ")
	data, _, code = p.separate(t, "upgrade", "--yes", "--json")
	var upgraded struct {
		Written bool
		Servers []struct {
			Name, Facet, Outcome string
			Before, After        struct{ Digest string }
		}
		Status []struct{ Name string }
		Pinned []struct {
			Name    string
			Written bool
		}
	}
	world.Decode(t, data, &upgraded)
	said := map[string]string{}
	for _, s := range upgraded.Servers {
		said[s.Name] = s.Facet + " " + s.Outcome + " " + s.After.Digest
		if s.Before.Digest == "" {
			t.Errorf("%s has no entry before", s.Name)
		}
	}
	if code != 0 || !upgraded.Written || len(upgraded.Status) != 3 || len(upgraded.Pinned) != 2 ||
		said["moves"] != "kit updated "+moved["moves"] || said["own"] != " updated "+moved["own"] ||
		said["stays"] != "kit unchanged "+p.locked["stays"] {
		t.Errorf("upgrade --json: exit code %d, %v\n%s", code, said, data)
	}
	if names := p.started(t); !slices.Equal(names, []string{"moves", "own"}) {
		t.Errorf("%v were started", names)
	}
	p.want(t, 0, []string{"check"})

	// What nobody agreed to is listed too, with what was found.
	moved["moves"] = p.move(t, "moves")
	data, _, code = p.separate(t, "upgrade", "--json")
	world.Decode(t, data, &upgraded)
	if i := slices.IndexFunc(upgraded.Servers, func(s struct {
		Name, Facet, Outcome string
		Before, After        struct{ Digest string }
	}) bool {
		return s.Outcome == "outdated"
	}); code != 4 || i < 0 || upgraded.Servers[i].Name != "moves" || upgraded.Servers[i].After.Digest != moved["moves"] {
		t.Errorf("upgrade --json: exit code %d\n%s", code, data)
	}
	// The hint of check has an effect: so has pin, which looks at those of facets as well.
	// Of what shows another surface from the same bytes --yes is no consent.
	p.want(t, 6, []string{"pin", "--yes"}, "surface of stays: surface mismatch")
	p.want(t, 0, []string{"pin", "moves", "own", "--yes"}, "moves is pinned")
	p.want(t, 0, []string{"check"})
}

// separate runs hallmark and returns what it prints apart: data, and what is for a person.
func (p *movedProject) separate(t *testing.T, args ...string) (data json.RawMessage, notes string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang.Long)
	defer cancel()
	c := exec.CommandContext(ctx, p.bin, args...)
	c.Dir, c.Env = p.dir, p.environ()
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.Bytes(), said.String(), c.ProcessState.ExitCode()
}
