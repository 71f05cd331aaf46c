package project

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
)

// What a launch line demanded and a later one does not is told, key by key; what it demands
// more, or otherwise, is not.
func TestWeaker(t *testing.T) {
	a, b := digest.FromBytes([]byte("a")), digest.FromBytes([]byte("b"))
	weak, err := digest.Parse("sha1:0123456789012345678901234567890123456789")
	if err != nil {
		t.Fatal(err)
	}
	verify := func(files map[string]digest.Digest) func(*LaunchLock) {
		return func(l *LaunchLock) { l.Verify = &VerifyLock{Type: "file", Files: files} }
	}
	strict := LaunchLock{
		Server: "io.github.acme/notes@1.0.0", OnDrift: "block", Requests: "deny", Kinds: []string{"tools", "instructions"},
		Tree: "./server/lib", Data: []string{"server/lib/x"},
		Verify: &VerifyLock{Type: "file", Files: map[string]digest.Digest{"": a, "b": b}},
	}
	for name, c := range map[string]struct {
		change func(*LaunchLock)
		want   []string
	}{
		"the same":             {func(*LaunchLock) {}, nil},
		"withhold":             {func(l *LaunchLock) { l.OnDrift = "withhold" }, []string{"on_drift block withhold"}},
		"warn":                 {func(l *LaunchLock) { l.OnDrift = "warn" }, []string{"on_drift block warn"}},
		"requests are logged":  {func(l *LaunchLock) { l.Requests = "log" }, []string{"server_requests deny log"}},
		"requests are allowed": {func(l *LaunchLock) { l.Requests = "" }, []string{"server_requests deny allow"}},
		"any arguments":        {func(l *LaunchLock) { l.Extra = "any" }, []string{"extra_arguments approved any"}},
		"unlocked":             {func(l *LaunchLock) { l.Unlocked = true }, []string{"unlocked false true"}},
		"fewer kinds":          {func(l *LaunchLock) { l.Kinds = []string{"tools"} }, []string{"surface_kinds with instructions without"}},
		"all kinds":            {func(l *LaunchLock) { l.Kinds = nil }, nil},
		"no tree":              {func(l *LaunchLock) { l.Tree, l.Data = "", nil }, []string{"tree ./server/lib no directory"}},
		"another tree":         {func(l *LaunchLock) { l.Tree = "server/libs" }, []string{"tree ./server/lib server/libs"}},
		"a smaller tree":       {func(l *LaunchLock) { l.Tree = "server/lib/x" }, []string{"tree ./server/lib server/lib/x"}},
		"a larger tree":        {func(l *LaunchLock) { l.Tree = "server" }, nil},
		"more data":            {func(l *LaunchLock) { l.Data = []string{"server/lib/y", "server/lib/x"} }, []string{"data without server/lib/y with it"}},
		"less data":            {func(l *LaunchLock) { l.Data = nil }, nil},
		"no record":            {func(l *LaunchLock) { l.Server = "" }, []string{"server io.github.acme/notes@1.0.0 of the registry what no registry says anything about"}},
		"packed from source":   {func(l *LaunchLock) { l.Server, l.Source = "", "notes@1.0.0" }, nil},
		"no verify block":      {func(l *LaunchLock) { l.Verify = nil }, []string{fmt.Sprintf("verify %s of the command nothing", a), fmt.Sprintf("verify %s of b nothing", b)}},
		"an opt-out":           {func(l *LaunchLock) { l.Verify = &VerifyLock{Type: "none"} }, []string{fmt.Sprintf("verify %s of the command nothing", a), fmt.Sprintf("verify %s of b nothing", b)}},
		"one file less":        {verify(map[string]digest.Digest{"": a}), []string{fmt.Sprintf("verify %s of b nothing", b)}},
		"other bytes":          {verify(map[string]digest.Digest{"": b, "b": b, "c": a}), nil},
		"a weak digest":        {verify(map[string]digest.Digest{"": weak, "b": b}), []string{fmt.Sprintf("verify %s of the command %s", a, weak)}},
	} {
		now := strict
		c.change(&now)
		var got []string
		for _, x := range strict.Weaker(now) {
			got = append(got, x.Key+" "+x.Was+" "+x.Now)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	strict.Kinds = nil
	if got := (LaunchLock{OnDrift: "warn", Kinds: []string{"tools"}}).Weaker(strict); got != nil {
		t.Errorf("what is stricter: %q", got)
	}
}

// What was demanded of a log is told too.
func TestWeakerLog(t *testing.T) {
	strict := AcceptedLog{LogKey: "a", LogSize: 7, Quorum: 2, MaxAge: 24 * time.Hour}
	some := func(names ...string) AcceptedLog { return AcceptedLog{LogKey: "a", Quorum: 2, Witnesses: names} }
	more := func(names ...string) AcceptedLog { return AcceptedLog{LogKey: "a", Quorum: 3, Witnesses: names} }
	for name, c := range map[string]struct {
		was, now AcceptedLog
		want     string
	}{
		"the same":      {strict, strict, "[]"},
		"stricter":      {strict, AcceptedLog{LogKey: "a", Quorum: 3, MaxAge: time.Hour}, "[]"},
		"another log":   {strict, AcceptedLog{LogKey: "b", Quorum: 2, MaxAge: time.Hour}, "[log_key was a, and is b]"},
		"less of all":   {strict, AcceptedLog{Quorum: 1}, "[log_key was a, and is none witness_quorum was 2, and is 1 max_age was 24h0m0s, and is none]"},
		"older":         {strict, AcceptedLog{LogKey: "a", Quorum: 2, MaxAge: 25 * time.Hour}, "[max_age was 24h0m0s, and is 25h0m0s]"},
		"no log before": {AcceptedLog{}, AcceptedLog{}, "[]"},

		"the same witnesses": {some("a", "b", "c"), some("c", "b", "a"), "[]"},
		"fewer of them":      {some("a", "b", "c"), some("b", "c"), "[]"}, // two of two are two of three
		"another":            {some("a", "b"), some("a", "c"), "[witnesses was a, b, and is a, c]"},
		"one more":           {some("a", "b"), some("a", "b", "c"), "[witnesses was a, b, and is a, b, c]"},
		"one more of more":   {some("a", "b"), more("a", "b", "c"), "[]"},
		"one of an older":    {strict, some("x", "y"), "[max_age was 24h0m0s, and is none]"},
	} {
		if got := fmt.Sprint(c.was.Weaker(c.now)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
