package meaning

import "strings"

// Free maps free names to their meanings.
var Free = map[string]Set{
	"require": Requires, "module": ModuleItself, "process": ProcessItself, "globalThis": Global, "global": Global,
	"eval": Evaluates, "Function": Evaluates,
}

// Members maps the properties of known values to their meanings.
var Members = map[Set]map[string]Set{
	ModuleItself: {
		"require": Requires, "constructor": ModuleSpace, "parent": ModuleItself, "children": ModuleCache,
		"__proto__": ModuleItself, "load": Loads, "_compile": Compiles,
	},
	Requires: {
		"resolve": Resolves, "main": ModuleItself, "cache": ModuleCache, "extensions": Loaders,
		"constructor": Evaluates, "__proto__": Functions,
	},
	ProcessItself: ofProcessByName,
	ModuleSpace: {"createRequire": Creates, "createRequireFromPath": Creates, "_load": Loads, "runMain": Loads,
		"register": Imports, "registerHooks": Evaluates, "Module": ModuleSpace, "_preloadModules": Loads,
		"default": ModuleSpace, "prototype": ModuleItself, "_cache": ModuleCache, "_pathCache": Wrappers,
		"enableCompileCache": OpensFiles, "flushCompileCache": OpensFiles, "findPackageJSON": OpensFiles,
		"_extensions": Loaders, "wrapper": Wrappers, "constructor": Evaluates, "module.exports": ModuleSpace},
	Global: {"process": ProcessItself, "require": Requires, "module": ModuleItself, "globalThis": Global,
		"global": Global, "eval": Evaluates, "Function": Evaluates},
	PerhapsGlobal: {"process": ProcessItself},
	Meta:          {"resolve": Resolves},
	Machines: {"runInThisContext": Evaluates, "runInContext": Evaluates, "runInNewContext": Evaluates,
		"compileFunction": Evaluates, "Script": Evaluates, "createScript": Evaluates,
		"SourceTextModule": Evaluates, "default": Machines, "module.exports": Machines},
	Evaluates: {"constructor": Evaluates, "prototype": Functions, "__proto__": Functions},
	Functions: {"constructor": Evaluates, "__proto__": Nothing},
	Loaders:   {".node": Opens},
	Reports: {"writeReport": OpensFiles, "directory": OpensFiles, "filename": OpensFiles,
		"reportOnFatalError": OpensFiles, "reportOnSignal": OpensFiles, "reportOnUncaughtException": OpensFiles},
	OpensFiles:       {"constructor": OpensFiles},
	Ciphers:          {"setEngine": Extends, "default": Ciphers, "module.exports": Ciphers},
	Streams:          {"constructor": OpensFiles, "_handle": OpensFiles, "__proto__": Streams},
	PerhapsEvaluates: {"constructor": PerhapsEvaluates}, // see load for one of a constructor
}

// ofProcessByName are the members of process that are more than data and harmless functions; see
// harmlessMembers for those.
var ofProcessByName = map[string]Set{
	"mainModule": ModuleItself, "getBuiltinModule": Builtins, "binding": Builtins, "_linkedBinding": Builtins,
	"dlopen": Opens, "execve": Executes, "_debugProcess": Executes, "report": Reports, "loadEnvFile": OpensFiles,
	"stdin": Streams, "stdout": Streams, "stderr": Streams,
	"_preload_modules": Loads, "default": ProcessItself, "module.exports": ProcessItself,
	"valueOf": Chains, "on": Chains, "once": Chains, "off": Chains, "addListener": Chains, "removeListener": Chains,
	"prependListener": Chains, "prependOnceListener": Chains, "removeAllListeners": Chains, "setMaxListeners": Chains,
	"constructor": PerhapsEvaluates,
}

// namedMembers are properties that have the same meaning on every object.
var namedMembers = map[string]Set{
	"createRequire": Creates, "getBuiltinModule": Builtins, "_linkedBinding": Builtins, "mainModule": ModuleItself,
	"constructor": PerhapsEvaluates, "loadExtension": Extends, "enableLoadExtension": Extends,
}

// Bindings are the names by which process.binding, called on anything, reaches what needs a
// permission.
var Bindings = []string{"fs", "spawn_sync", "process_wrap", "tcp_wrap", "pipe_wrap", "udp_wrap", "cares_wrap",
	"tls_wrap", "natives", "contextify", "inspector"}

// moduleSpaces are the modules whose namespace has a meaning.
var moduleSpaces = map[string]Set{"module": ModuleSpace, "process": ProcessItself, "vm": Machines, "crypto": Ciphers}

// SpaceOf returns the meaning of the namespace of a module.
func SpaceOf(module string) Set { return moduleSpaces[strings.TrimPrefix(module, "node:")] }
