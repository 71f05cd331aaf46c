package program

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestNear(t *testing.T) {
	names := []string{"check", "pin", "publish", "pull", "run", "scan", "search", "unpin", "upgrade"}
	for typed, want := range map[string][]string{
		"pn": {"pin"}, "pni": {"pin"}, "chekc": {"check"}, "sacn": {"scan"}, "upgarde": {"upgrade"}, "unpn": {"unpin"},
		"pu": {"pull", "publish"}, "se": {"search"}, // what somebody began
		"xx": {}, "x": {}, "deploy": {}, "": {}, strings.Repeat("p", 1<<20): {},
	} {
		if got := near(typed, names); !slices.Equal(got, want) {
			t.Errorf("%.20q: %q, want %q", typed, got, want)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("near changed what it was given: %q", names)
	}
}

// The words of a mistyped line are answered with the words that are near them, and no others.
func TestSuggestions(t *testing.T) {
	for line, want := range map[string]string{
		"stoer":         `unknown command "stoer" for "hallmark"; did you mean 'hallmark store'? see 'hallmark --help'`,
		"store vrify":   `unknown command "vrify" for "hallmark store"; did you mean 'hallmark store verify'? see 'hallmark store --help'`,
		"store other":   `unknown command "other" for "hallmark store"; see 'hallmark store --help'`,
		"store --jsn":   `unknown flag: --jsn; did you mean '--json'? see 'hallmark store --help'`,
		"store --other": `unknown flag: --other; see 'hallmark store --help'`,
		"store -x":      `unknown shorthand flag: 'x' in -x; see 'hallmark store --help'`,
		"store --json=perhaps": `invalid argument "perhaps" for "--json" flag: it is neither true nor false; ` +
			`see 'hallmark store --help'`,
		"store -n 2MB": `invalid argument "2MB" for "--number" flag: it is no number as this flag takes it; see 'hallmark store --help'`,
		"store -n 1" + strings.Repeat("0", 40): `invalid argument "1` + strings.Repeat("0", 40) +
			`" for "--number" flag: it is too large or too small; see 'hallmark store --help'`,
		"help stoer":     `unknown command "stoer" for "hallmark"; did you mean 'hallmark store'? see 'hallmark --help'`,
		"help store vrf": `unknown command "vrf" for "hallmark store"; see 'hallmark store --help'`,
	} {
		root := &cobra.Command{Use: "hallmark", RunE: func(*cobra.Command, []string) error { return nil }}
		store := &cobra.Command{Use: "store", Args: Args(cobra.NoArgs), RunE: root.RunE}
		store.Flags().Bool("json", false, "")
		store.Flags().IntP("number", "n", 0, "")
		store.AddCommand(&cobra.Command{Use: "verify", RunE: root.RunE})
		root.AddCommand(store)
		prepare(root)
		root.SetArgs(strings.Fields(line))
		c, err := root.ExecuteC()
		if err == nil {
			t.Fatalf("%s is taken", line)
		}
		if got := strings.ReplaceAll(explainUnknown(c, err).Error(), "\n  hint: ", "; "); got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
}
