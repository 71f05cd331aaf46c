// Package meaning says what a value of a script may mean for what that imports: the things of Node and of the
// language that import, evaluate texts or lead to something that does, and the members by which one leads to another.
package meaning

import "math/bits"

// Set is a set of what a value may mean for imports.
type Set uint64

const (
	Unknown          Set = 1 << iota // made outside of the file, or by what is not followed
	Requires                         // require, or a function that acts as it
	Creates                          // createRequire
	Resolves                         // require.resolve, import.meta.resolve
	Loads                            // Module._load
	Builtins                         // process.getBuiltinModule, process.binding
	Opens                            // process.dlopen
	Imports                          // import, as in import()
	Evaluates                        // eval, Function
	PerhapsEvaluates                 // the constructor of a value that is not known
	Functions                        // Function.prototype
	ModuleItself                     // module, require.main
	ModuleSpace                      // the module "module"
	Machines                         // the module "vm"
	ProcessItself                    // process
	Chains                           // process.on and its kind, which return process and call with it
	Global                           // globalThis
	PerhapsGlobal                    // the receiver of a callback in sloppy code
	Meta                             // import.meta
	ModuleCache                      // require.cache, module.children: modules
	Loaders                          // require.extensions: functions that load a file
	LoadsFile                        // one of them
	Compiles                         // module._compile
	Executes                         // process.execve, process._debugProcess
	Reports                          // process.report
	OpensFiles                       // process.loadEnvFile, process.report.writeReport
	Wrappers                         // Module.wrapper: the text around each script
	Streams                          // process.stdin and its kind, whose constructors open files and sockets
	Ciphers                          // the module "crypto"
	Extends                          // what loads native code besides: crypto.setEngine, loadExtension
	OfProcess                        // a member of process whose name is not known
	OfModule
	OfSpace
	OfRequire
	OfGlobal
	OfMeta
	OfMachines
)

// Nothing is the meaning of what does not matter.
const Nothing Set = 0

// Powerful are the meanings that matter wherever a value is handed to.
// A member of the global object whose name is not known is most likely a class that an engine may lack: it
// counts where it is called.
const Powerful = Requires | Creates | Loads | Builtins | Opens | ModuleItself | ModuleSpace | Machines |
	ProcessItself | Global | Meta | ModuleCache | Loaders | LoadsFile | Compiles | Executes | Reports | OpensFiles |
	Wrappers | SomeMember&^OfGlobal

// SomeMember are the members of known values whose names are not known.
const SomeMember = OfProcess | OfModule | OfSpace | OfRequire | OfGlobal | OfMeta | OfMachines

// someOf maps a known value to a member of it whose name is not known.
var someOf = map[Set]Set{
	ProcessItself: OfProcess, ModuleItself: OfModule, ModuleSpace: OfSpace, Requires: OfRequire, Global: OfGlobal,
	Meta: OfMeta, Machines: OfMachines,
	ModuleCache: ModuleItself, Loaders: LoadsFile, Wrappers: Wrappers,
}

// WithMembers adds to known values the members of them whose names are not known.
func WithMembers(m Set) Set {
	for of, some := range someOf {
		if m&of != 0 {
			m |= some & SomeMember
		}
	}
	return m
}

// Each calls f with each meaning of a set.
func (m Set) Each(f func(Set)) {
	for m != 0 {
		one := Set(1) << bits.TrailingZeros64(uint64(m))
		m &^= one
		f(one)
	}
}

// MemberOf returns the meaning of the property name of a value.
func MemberOf(of Set, name string) Set {
	if of&^Unknown == 0 {
		if of == 0 {
			return Nothing
		}
		return Unknown | namedMembers[name]
	}
	var out Set
	of.Each(func(one Set) {
		if m, ok := Members[one][name]; ok {
			out |= m
			return
		}
		switch one {
		case ModuleCache:
			out |= ModuleItself
		case Loaders:
			out |= LoadsFile
		case Wrappers:
			out |= Wrappers
		case OfGlobal: // perhaps process
			out |= ofProcessByName[name]&(ModuleItself|Builtins|Opens|Executes|OpensFiles) | Unknown | namedMembers[name]
		case OfProcess, OfModule, OfSpace, OfRequire, OfMeta, OfMachines:
			// One of all members has it.
			for whole, some := range someOf {
				if some != one {
					continue
				}
				for _, m := range Members[whole] {
					m.Each(func(one Set) { out |= Members[one][name] })
				}
			}
			out |= Unknown | namedMembers[name]
		default:
			out |= Unknown | namedMembers[name]
		}
	})
	return out
}

// IndexOf returns the meaning of a property of a value whose name is not known.
func IndexOf(of Set) Set {
	var out Set
	of.Each(func(one Set) {
		switch {
		case someOf[one] != 0:
			out |= someOf[one]
		case one&SomeMember != 0:
			out |= one
		}
		out |= Unknown
	})
	return out
}

// Refine returns what is read under a known name from an object that has what m says under names that
// are not known.
func Refine(m Set, name string) Set {
	out := m &^ SomeMember
	for whole, some := range someOf {
		if m&some != 0 && some&SomeMember != 0 {
			out |= MemberOf(whole, name)
		}
	}
	return out
}
