// Command parse is a reference of P3b: it has esbuild parse the scripts below a directory, in one process, and
// does nothing else: no link, no output.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	dir, err := filepath.Abs(os.Args[1])
	if err == nil {
		err = parse(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "parse:", err)
		os.Exit(1)
	}
}

func parse(dir string) error {
	var scripts []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".js" {
			scripts = append(scripts, path)
		}
		return err
	}); err != nil {
		return err
	}
	imports := 0
	const stop = "stop after parsing"
	r := api.Build(api.BuildOptions{
		EntryPoints: scripts, Bundle: true, Outdir: dir, Write: false, LogLevel: api.LogLevelSilent,
		Format: api.FormatESModule, Platform: api.PlatformNode, Target: api.ESNext, TsconfigRaw: "{}",
		Plugins: []api.Plugin{{Name: "parse", Setup: func(b api.PluginBuild) {
			b.OnStart(func() (api.OnStartResult, error) {
				return api.OnStartResult{Errors: []api.Message{{Text: stop}}}, nil
			})
			b.OnResolve(api.OnResolveOptions{Filter: `^(\.\.?/|path$)`},
				func(a api.OnResolveArgs) (api.OnResolveResult, error) {
					imports++
					return api.OnResolveResult{Path: a.Path, External: true}, nil
				})
		}}},
	})
	if len(r.Errors) != 1 || r.Errors[0].Text != stop {
		return fmt.Errorf("%d errors, the first %v", len(r.Errors), r.Errors[0].Text)
	}
	if imports == 0 {
		return fmt.Errorf("nothing was parsed")
	}
	return nil
}
