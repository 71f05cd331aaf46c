package jsscan

import (
	"sync"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// kinds maps esbuild's kind of an import to ours.
var kinds = map[api.ResolveKind]plugin.Kind{
	api.ResolveJSImportStatement: plugin.Static,
	api.ResolveJSDynamicImport:   plugin.Dynamic,
	api.ResolveJSRequireCall:     plugin.Require,
	api.ResolveJSRequireResolve:  plugin.Resolve,
}

// nowhere is an empty directory for relative patterns: esbuild would list the files that
// import(`./${x}.js`) could mean.
const nowhere = "/dev/null/nowhere"

// listLiterals lists the imports with literal targets that esbuild finds. It resolves and reads no
// file: it declares each import external. For code that esbuild cannot read it returns none.
//
// esbuild stops when it has parsed a file if there was an error by then. The one that is made here saves
// linking and printing the code, which take as long.
func listLiterals(name string, content []byte) []plugin.Import {
	var (
		mu    sync.Mutex
		found []plugin.Import
	)
	api.Build(api.BuildOptions{
		Stdin: &api.StdinOptions{Contents: string(content), Sourcefile: "x", Loader: loader(name),
			ResolveDir: nowhere},
		Bundle:            true,
		Write:             false,
		LogLevel:          api.LogLevelSilent,
		Format:            api.FormatESModule,
		Platform:          api.PlatformNode,
		Target:            api.ESNext,
		TreeShaking:       api.TreeShakingFalse,
		IgnoreAnnotations: true,
		TsconfigRaw:       "{}",
		Plugins: []api.Plugin{{Name: "list", Setup: func(b api.PluginBuild) {
			b.OnStart(func() (api.OnStartResult, error) {
				return api.OnStartResult{Errors: []api.Message{{Text: "stop after parsing"}}}, nil
			})
			b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
				kind, ok := kinds[a.Kind]
				if !ok {
					return api.OnResolveResult{}, nil // the file itself
				}
				mu.Lock()
				defer mu.Unlock()
				found = append(found, plugin.Import{Kind: kind, Specifier: a.Path})
				return api.OnResolveResult{Path: a.Path, External: true}, nil
			})
		}}},
	})
	return found
}
