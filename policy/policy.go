// Package policy judges evidence and is the only place that admits anything.
//
// [Judge] looks up each piece of evidence, by the flow that asks, its scheme and its
// authority, in one table. Evidence that the table does not know is refused. If no
// piece is refused the [Verdict] holds an [Admitted], the proof that storing, locking
// and executing demand.
//
// A row of the table says for each outcome whether it is allowed, allowed with a
// warning, or refused with a class, from which the exit code follows. What is missing is
// owed, by the project, the lock, this machine, the caller or the log: no row warns of
// it, and no setting changes what it does. Evidence whose claim is malformed is refused
// as a validation error where the table says that nothing was decided. A match under a
// weak algorithm counts as absent, save in a verify block, where it warns. Code of a
// plugin that could not be parsed is refused without any setting. [Settings] change a few
// cells; those of flow plugin make cells stricter, none laxer.
//
// docs/policy.md shows the table, what the settings change, and what is said next about
// each finding. It is written from the rows.
package policy

// Flow is what the evidence is gathered for.
type Flow string

// The flows.
const (
	Generate Flow = "generate" // hash-gen: hash what the document's packages give
	Verify   Flow = "verify"   // verify: recompute what a document claims
	Send     Flow = "send"     // publish, at the author's side
	Accept   Flow = "accept"   // publish, at the registry's side
	Pin      Flow = "pin"      // lock a server
	Launch   Flow = "launch"   // run a locked server, before it starts
	Bare     Flow = "bare"     // run a server that is not locked
	Session  Flow = "session"  // one item of a surface, while the server runs
	Install  Flow = "install"  // lock facets and write their files
	Check    Flow = "check"    // verify the lock without launching
	Scan     Flow = "scan"     // read how the clients of this machine start their servers
	Validate Flow = "validate" // a plugin's manifest and files, whatever its code does
	Plugin   Flow = "plugin"   // load a plugin, or put it where it is loaded from
)

// Action is an effect that needs an [Admitted].
type Action string

// The actions.
const (
	Publish Action = "publish" // insert a record
	Keep    Action = "keep"    // put into the store
	Add     Action = "add"     // write a lock entry
	Execute Action = "execute" // start a process
	Show    Action = "show"    // let a model see an item of a surface

	Materialize Action = "materialize" // write files of a facet into a project
	Place       Action = "place"       // write a plugin's files to where they are loaded from
)

// actions lists what a verdict of each flow can admit.
var actions = map[Flow][]Action{
	Accept:  {Publish},
	Pin:     {Keep, Add, Execute},
	Launch:  {Keep, Execute},
	Bare:    {Execute},
	Session: {Show},
	Install: {Keep, Add, Materialize},
	Plugin:  {Add, Place},
}
