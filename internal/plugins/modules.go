package plugins

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/tree"
)

// modulesDir is the directory into which a host installs external packages of a plugin, and
// modulesFile the file that the installing program leaves beside it.
const (
	modulesDir  = "node_modules/"
	modulesFile = "package.json"
)

// nativeEvidence states, where external packages hold native addons, whether the host permits these:
// they are no part of dist/, and so are not seen by package plugin.
func nativeEvidence(m *plugin.Manifest, modules []tree.File, flags plugin.Flags) (report evidence.Report) {
	i := slices.IndexFunc(modules, func(f tree.File) bool {
		return strings.HasSuffix(strings.ToLower(f.Path), ".node")
	})
	if i < 0 {
		return nil
	}
	for _, flag := range []struct {
		name string
		on   bool
	}{{"PLUGIN_ALLOW_NATIVE", flags.AllowNative}, {"SANDBOX_AVAILABLE", flags.SandboxAvailable}} {
		claim := evidence.Claim{Subject: m.Subject(), Scheme: evidence.Permission, Authority: evidence.Caller,
			Where: flag.name}
		e := evidence.Evidence{Claim: claim, Outcome: evidence.Match, Observed: evidence.Observed{Text: flag.name}}
		if !flag.on {
			e = evidence.Evidence{Claim: claim, Outcome: evidence.Absent, Reason: fmt.Sprintf(
				"external packages hold native addons (%+q); the host does not set %s", modules[i].Path, flag.name)}
		}
		report = append(report, e)
	}
	return report
}

// modulesLockFile says what an installer, npm or Hallmark, put into node_modules.
const modulesLockFile = modulesDir + ".package-lock.json"

// readModulesLock reads the lock in node_modules, if it is among the files of a plugin's directory. One
// that is larger than is read counts as none.
func readModulesLock(root *os.Root, files []tree.File) ([]byte, error) {
	i := slices.IndexFunc(files, func(f tree.File) bool { return f.Path == modulesLockFile })
	if i < 0 || files[i].Size > plugin.MaxManifest {
		return nil, nil
	}
	open, done := durable.Opener(root)
	defer done()
	f, err := open(modulesLockFile)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, filepath.Join(root.Name(), modulesLockFile), "", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, files[i].Size))
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, filepath.Join(root.Name(), modulesLockFile), "", err)
	}
	return data, nil
}
