package meaning

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// harmlessOfProcess are the other members that process has in the versions of Node that were looked at, with
// what they inherit. They tell something, change this process, or send signals; none of them gives a module.
const harmlessOfProcess = `_debugEnd _eval _events _eventsCount _exiting _fatalException _getActiveHandles
	_getActiveRequests _kill _maxListeners _rawDebug _startProfilerIdleNotifier _stopProfilerIdleNotifier
	_tickCallback abort allowedNodeEnvironmentFlags arch argv argv0 assert availableMemory chdir config
	constrainedMemory cpuUsage cwd debugPort domain emit emitWarning env eventNames execArgv execPath exit exitCode
	features finalization getActiveResourcesInfo getMaxListeners getegid geteuid getgid getgroups getuid
	hasUncaughtExceptionCaptureCallback hrtime initgroups kill listenerCount listeners memoryUsage moduleLoadList
	nextTick openStdin permission pid platform ppid rawListeners reallyExit ref release resourceUsage setegid
	seteuid setgid setgroups setuid setSourceMapsEnabled setUncaughtExceptionCaptureCallback sourceMapsEnabled
	threadCpuUsage title umask unref uptime version versions addUncaughtExceptionCaptureCallback
	traceProcessWarnings noDeprecation throwDeprecation traceDeprecation _disconnect _send channel connected
	disconnect send`

// harmlessOfModule are the other members of a module, and of the module "module".
const harmlessOfModule = `children exports filename id isPreloading loaded path paths SourceMap _debug _findPath
	_initPaths _nodeModulePaths _readPackage _resolveFilename _resolveLookupPaths _stat builtinModules constants
	findSourceMap getCompileCacheDir getSourceMapsSupport
	globalPaths isBuiltin length name setSourceMapsSupport stripTypeScriptTypes syncBuiltinESMExports wrap
	arguments caller`

// Each member that the installed Node gives process, module and the module "module" has a place in the tables:
// one that a new version brings is looked at before it is taken for harmless.
func TestMembersAreKnown(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node")
	}
	const list = `const names = (o) => { const s = new Set(); for (let p = o; p && p !== Object.prototype && ` +
		`p !== Function.prototype; p = Object.getPrototypeOf(p)) Object.getOwnPropertyNames(p).forEach((k) => s.add(k)); ` +
		`return [...s].join(' ') }; console.log(names(process)); console.log(names(module)); ` +
		`console.log(names(require('module'))); console.log(Object.keys(require('vm')).join(' '))`
	out, err := exec.Command(node, "-e", list).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 4 {
		t.Fatalf("%q", lines)
	}
	for i, table := range []struct {
		of       Set
		harmless string
	}{{ProcessItself, harmlessOfProcess}, {ModuleItself, harmlessOfModule}, {ModuleSpace, harmlessOfModule},
		{Machines, "createContext isContext measureMemory constants"}} {
		harmless := strings.Fields(table.harmless)
		for name := range strings.FieldsSeq(lines[i]) {
			_, known := Members[table.of][name]
			if known == slices.Contains(harmless, name) && !(known && table.of&(ModuleItself|ModuleSpace) != 0) {
				t.Errorf("%s: in no table, or in two", name)
			}
		}
	}
}
