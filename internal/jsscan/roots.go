package jsscan

import "strings"

// root is a value of Node or of the language by which code imports, evaluates a text, or gets at something that does.
type root int

const (
	none        root = iota
	harmless         // a member of a root by which nothing of that can be got at
	anyRoot          // one of several
	requires         // require
	resolves         // require.resolve, import.meta.resolve
	builtins         // process.getBuiltinModule, process.binding
	opens            // process.dlopen
	loaders          // require.extensions: functions that load a file of an extension
	executes         // process.execve
	theModule        // module
	theProcess       // process
	chains           // process.on and its kind, which return process
	global           // globalThis
	evaluates        // eval
	functions        // Function
	prototype        // Object.prototype and its kind, which all code shares
	meta             // import.meta
	moduleSpace      // the module "module"
	creates          // createRequire
	machines         // the module "vm"
)

// freeNames are the roots that a name stands for which the file does not declare.
var freeNames = map[string]root{
	"require": requires, "module": theModule, "process": theProcess, "globalThis": global, "global": global,
	"eval": evaluates, "Function": functions,
}

// spaces are the modules whose namespace is a root.
var spaces = map[string]root{"module": moduleSpace, "process": theProcess, "vm": machines}

// spaceOf returns the root that is the namespace of a module.
func spaceOf(module string) root { return spaces[strings.TrimPrefix(module, "node:")] }

// globalFunctions are functions of the language and of Node that do nothing with their receiver.
var globalFunctions = map[string]bool{"setTimeout": true, "setInterval": true, "setImmediate": true,
	"clearTimeout":  true,
	"clearInterval": true, "clearImmediate": true, "queueMicrotask": true, "structuredClone": true,
	"fetch": true, "atob": true, "btoa": true}

// networks are the names of Node's global functions and classes that reach the network without any module.
var networks = map[string]bool{"fetch": true, "WebSocket": true, "EventSource": true}

// members are the members of roots that have a meaning; what is not here is not known. Harmless members give data, or
// do what needs no permission.
var members = map[root]map[string]root{
	requires:  {"resolve": resolves, "extensions": loaders, "main": theModule, "length": harmless, "name": harmless},
	theModule: withHarmless(map[string]root{"require": requires}, "exports id filename loaded path paths"),
	theProcess: withHarmless(map[string]root{
		"getBuiltinModule": builtins, "binding": builtins, "_linkedBinding": builtins, "dlopen": opens,
		"execve": executes, "mainModule": theModule, "default": theProcess, "module.exports": theProcess,
		"on": chains, "once": chains, "off": chains, "addListener": chains, "removeListener": chains,
		"prependListener": chains, "prependOnceListener": chains, "removeAllListeners": chains,
		"setMaxListeners": chains,
	}, `abort allowedNodeEnvironmentFlags arch argv argv0 availableMemory browser channel chdir config connected
		constrainedMemory cpuUsage cwd debugPort disconnect domain emit emitWarning env eventNames execArgv execPath
		exit exitCode features getActiveResourcesInfo getMaxListeners getegid geteuid getgid getgroups getuid hrtime
		kill hasUncaughtExceptionCaptureCallback listenerCount memoryUsage nextTick noDeprecation permission pid
		platform ppid release resourceUsage send setUncaughtExceptionCaptureCallback stderr stdin stdout
		throwDeprecation title traceDeprecation type umask uptime version versions`),
	loaders:   {".node": opens},
	functions: {"prototype": prototype, "name": harmless, "length": harmless},
	meta:      withHarmless(map[string]root{"resolve": resolves}, "url dirname filename main env"),
	moduleSpace: withHarmless(map[string]root{"createRequire": creates, "createRequireFromPath": creates,
		"default": moduleSpace, "module.exports": moduleSpace, "Module": moduleSpace, "_extensions": loaders},
		"builtinModules isBuiltin constants"),
}

func withHarmless(known map[string]root, names string) map[string]root {
	for name := range strings.FieldsSeq(names) {
		known[name] = harmless
	}
	return known
}

// memberOf returns the member of a root with a name; none if it is not known what that is.
func memberOf(of root, name string) root {
	switch of {
	case global: // what it has is a name that stands for itself, or the program's own
		if r := freeNames[name]; r != none {
			return r
		}
		return harmless
	case prototype:
		return harmless
	}
	return members[of][name]
}

// join is what a value is that may be the one or the other.
func join(a, b root) root {
	switch {
	case a == b || b == none || b == harmless:
		return a
	case a == none || a == harmless:
		return b
	}
	return anyRoot
}
