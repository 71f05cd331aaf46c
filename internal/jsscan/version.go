package jsscan

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
)

// sources is the code of this package. Nobody can forget to raise a version that is computed from it.
//
//go:embed *.go
var sources embed.FS

// parsers are the modules that parse for us, with the version and sum that go.mod and go.sum have: what a
// program was built with is not known everywhere, such as in tests.
var parsers = []debug.Module{
	{Path: "github.com/evanw/esbuild", Version: "v0.28.2", Sum: "h1:A2uETn4jrQTcXaT/shwTDTYBxDjl7fV7nXmUrJxfA2w="},
	{Path: "github.com/tdewolff/parse/v2", Version: "v2.8.20", Sum: "h1:eU+UStwuoeHnXdaSBIoEfNnj33URx24gJDdNViHHYwM="},
}

// Version changes whenever [File] may find something else in the same script: it is a digest of that code,
// which names the versions of the parsers, and of the version of Go. It is empty if the program was
// built with other parsers.
var Version = sync.OnceValue(func() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return versionOf(sources, build.Deps)
})

// versionOf is the version of a scanner with these sources, in a program with these modules.
func versionOf(sources fs.FS, modules []*debug.Module) string {
	for _, m := range modules {
		for _, p := range parsers {
			if m.Path == p.Path && (m.Version != p.Version || m.Sum != p.Sum || m.Replace != nil) {
				return ""
			}
		}
	}
	names, err := fs.Glob(sources, "*.go")
	if err != nil || len(names) == 0 {
		return ""
	}
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version())
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		code, err := fs.ReadFile(sources, name)
		if err != nil {
			return ""
		}
		fmt.Fprintf(h, "%s %x\n", name, sha256.Sum256(code))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Key is a digest of all that the result of [File] depends on but the scanner itself: the content, of which sum
// is the sha256 digest, and the extension of the name, which says in which language it is.
func Key(name string, sum digest.Digest) [sha256.Size]byte {
	return sha256.Sum256([]byte(sum.String() + strings.ToLower(path.Ext(name))))
}
