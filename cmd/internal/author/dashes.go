package author

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// DoubleDashes rewrites -flag and -flag=value, as the official mcp-publisher and its examples write
// them, with two dashes, if a command below root has a flag of that name.
func DoubleDashes(root *cobra.Command, args []string) []string {
	known := map[string]bool{}
	var learn func(*cobra.Command)
	learn = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		for _, below := range c.Commands() {
			learn(below)
		}
	}
	learn(root)
	out := slices.Clone(args)
	for i, arg := range out {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		switch {
		case arg == "--":
			return out
		case len(name) > 1 && strings.HasPrefix(arg, "-") && known[name]:
			out[i] = "-" + arg
		}
	}
	return out
}
