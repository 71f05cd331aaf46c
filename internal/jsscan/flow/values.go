package flow

import (
	"math/bits"
	"strings"
)

// meaning is a set of what a value may mean for imports.
type meaning uint64

const (
	unknown          meaning = 1 << iota // made outside of the file, or by what is not followed
	requires                             // require, or a function that acts as it
	creates                              // createRequire
	resolves                             // require.resolve, import.meta.resolve
	loads                                // Module._load
	builtins                             // process.getBuiltinModule, process.binding
	opens                                // process.dlopen
	imports                              // import, as in import()
	evaluates                            // eval, Function
	perhapsEvaluates                     // the constructor of a value that is not known
	functions                            // Function.prototype
	moduleItself                         // module, require.main
	moduleSpace                          // the module "module"
	machines                             // the module "vm"
	processItself                        // process
	chains                               // process.on and its kind, which return process and call with it
	global                               // globalThis
	perhapsGlobal                        // the receiver of a callback in sloppy code
	meta                                 // import.meta
	moduleCache                          // require.cache, module.children: modules
	loaders                              // require.extensions: functions that load a file
	loadsFile                            // one of them
	compiles                             // module._compile
	executes                             // process.execve, process._debugProcess
	reports                              // process.report
	opensFiles                           // process.loadEnvFile, process.report.writeReport
	wrappers                             // Module.wrapper: the text around each script
	streams                              // process.stdin and its kind, whose constructors open files and sockets
	ciphers                              // the module "crypto"
	extends                              // what loads native code besides: crypto.setEngine, loadExtension
	ofProcess                            // a member of process whose name is not known
	ofModule
	ofSpace
	ofRequire
	ofGlobal
	ofMeta
	ofMachines
)

// powerful are the meanings that matter wherever a value is handed to. A member of the global object whose name is not
// known is most likely a class that an engine may lack: it counts where it is called.
const powerful = requires | creates | loads | builtins | opens | moduleItself | moduleSpace | machines |
	processItself | global | meta | moduleCache | loaders | loadsFile | compiles | executes | reports | opensFiles |
	wrappers | someMember&^ofGlobal

// someMember are the members of known values whose names are not known.
const someMember = ofProcess | ofModule | ofSpace | ofRequire | ofGlobal | ofMeta | ofMachines

// someOf maps a known value to a member of it whose name is not known.
var someOf = map[meaning]meaning{
	processItself: ofProcess, moduleItself: ofModule, moduleSpace: ofSpace, requires: ofRequire, global: ofGlobal,
	meta: ofMeta, machines: ofMachines,
	moduleCache: moduleItself, loaders: loadsFile, wrappers: wrappers,
}

// withMembers adds to known values the members of them whose names are not known.
func withMembers(m meaning) meaning {
	for of, some := range someOf {
		if m&of != 0 {
			m |= some & someMember
		}
	}
	return m
}

// globals maps free names to their meanings.
var globals = map[string]meaning{
	"require": requires, "module": moduleItself, "process": processItself, "globalThis": global, "global": global,
	"eval": evaluates, "Function": evaluates,
}

// members maps the properties of known values to their meanings.
var members = map[meaning]map[string]meaning{
	moduleItself: {
		"require": requires, "constructor": moduleSpace, "parent": moduleItself, "children": moduleCache,
		"__proto__": moduleItself, "load": loads, "_compile": compiles,
	},
	requires: {
		"resolve": resolves, "main": moduleItself, "cache": moduleCache, "extensions": loaders,
		"constructor": evaluates, "__proto__": functions,
	},
	processItself: ofProcessByName,
	moduleSpace: {"createRequire": creates, "createRequireFromPath": creates, "_load": loads, "runMain": loads,
		"register": imports, "registerHooks": evaluates, "Module": moduleSpace, "_preloadModules": loads,
		"default": moduleSpace, "prototype": moduleItself, "_cache": moduleCache, "_pathCache": wrappers,
		"enableCompileCache": opensFiles, "flushCompileCache": opensFiles, "findPackageJSON": opensFiles,
		"_extensions": loaders, "wrapper": wrappers, "constructor": evaluates, "module.exports": moduleSpace},
	global: {"process": processItself, "require": requires, "module": moduleItself, "globalThis": global,
		"global": global, "eval": evaluates, "Function": evaluates},
	perhapsGlobal: {"process": processItself},
	meta:          {"resolve": resolves},
	machines: {"runInThisContext": evaluates, "runInContext": evaluates, "runInNewContext": evaluates,
		"compileFunction": evaluates, "Script": evaluates, "createScript": evaluates,
		"SourceTextModule": evaluates, "default": machines, "module.exports": machines},
	evaluates: {"constructor": evaluates, "prototype": functions, "__proto__": functions},
	functions: {"constructor": evaluates, "__proto__": nothing},
	loaders:   {".node": opens},
	reports: {"writeReport": opensFiles, "directory": opensFiles, "filename": opensFiles,
		"reportOnFatalError": opensFiles, "reportOnSignal": opensFiles, "reportOnUncaughtException": opensFiles},
	opensFiles:       {"constructor": opensFiles},
	ciphers:          {"setEngine": extends, "default": ciphers, "module.exports": ciphers},
	streams:          {"constructor": opensFiles, "_handle": opensFiles, "__proto__": streams},
	perhapsEvaluates: {"constructor": perhapsEvaluates}, // see load for one of a constructor
}

const nothing meaning = 0

// ofProcessByName are the members of process that are more than data and harmless functions; see
// harmlessMembers for those.
var ofProcessByName = map[string]meaning{
	"mainModule": moduleItself, "getBuiltinModule": builtins, "binding": builtins, "_linkedBinding": builtins,
	"dlopen": opens, "execve": executes, "_debugProcess": executes, "report": reports, "loadEnvFile": opensFiles,
	"stdin": streams, "stdout": streams, "stderr": streams,
	"_preload_modules": loads, "default": processItself, "module.exports": processItself,
	"valueOf": chains, "on": chains, "once": chains, "off": chains, "addListener": chains, "removeListener": chains,
	"prependListener": chains, "prependOnceListener": chains, "removeAllListeners": chains, "setMaxListeners": chains,
	"constructor": perhapsEvaluates,
}

// namedMembers are properties that have the same meaning on every object.
var namedMembers = map[string]meaning{
	"createRequire": creates, "getBuiltinModule": builtins, "_linkedBinding": builtins, "mainModule": moduleItself,
	"constructor": perhapsEvaluates, "loadExtension": extends, "enableLoadExtension": extends,
}

// bindings are the names by which process.binding, called on anything, reaches what needs a permission.
var bindings = []string{"fs", "spawn_sync", "process_wrap", "tcp_wrap", "pipe_wrap", "udp_wrap", "cares_wrap",
	"tls_wrap", "natives", "contextify", "inspector"}

// moduleSpaces are the modules whose namespace has a meaning.
var moduleSpaces = map[string]meaning{"module": moduleSpace, "process": processItself, "vm": machines, "crypto": ciphers}

// spaceOf returns the meaning of the namespace of a module.
func spaceOf(module string) meaning { return moduleSpaces[strings.TrimPrefix(module, "node:")] }

// each calls f with each meaning of a set.
func (m meaning) each(f func(meaning)) {
	for m != 0 {
		one := meaning(1) << bits.TrailingZeros64(uint64(m))
		m &^= one
		f(one)
	}
}

// memberOf returns the meaning of the property name of a value.
func memberOf(of meaning, name string) meaning {
	if of&^unknown == 0 {
		if of == 0 {
			return nothing
		}
		return unknown | namedMembers[name]
	}
	var out meaning
	of.each(func(one meaning) {
		if m, ok := members[one][name]; ok {
			out |= m
			return
		}
		switch one {
		case moduleCache:
			out |= moduleItself
		case loaders:
			out |= loadsFile
		case wrappers:
			out |= wrappers
		case ofGlobal: // perhaps process
			out |= ofProcessByName[name]&(moduleItself|builtins|opens|executes|opensFiles) | unknown | namedMembers[name]
		case ofProcess, ofModule, ofSpace, ofRequire, ofMeta, ofMachines:
			// One of all members has it.
			for whole, some := range someOf {
				if some != one {
					continue
				}
				for _, m := range members[whole] {
					m.each(func(one meaning) { out |= members[one][name] })
				}
			}
			out |= unknown | namedMembers[name]
		default:
			out |= unknown | namedMembers[name]
		}
	})
	return out
}

// indexOf returns the meaning of a property of a value whose name is not known.
func indexOf(of meaning) meaning {
	var out meaning
	of.each(func(one meaning) {
		switch {
		case someOf[one] != 0:
			out |= someOf[one]
		case one&someMember != 0:
			out |= one
		}
		out |= unknown
	})
	return out
}

// refine returns what is read under a known name from an object that has what m says under names that are not known.
func refine(m meaning, name string) meaning {
	out := m &^ someMember
	for whole, some := range someOf {
		if m&some != 0 && some&someMember != 0 {
			out |= memberOf(whole, name)
		}
	}
	return out
}
