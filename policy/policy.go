// Package policy judges evidence and is the only place that admits anything.
//
// [Judge] looks up each piece of evidence, by the flow that asks, its scheme and its
// authority, in one table. Evidence that the table does not know is refused. If no
// piece is refused the [Verdict] holds an [Admitted], the proof that storing, locking
// and executing demand.
//
// # Table
//
// What each outcome of the evidence does: "-" allows, "warn" allows and says so, any
// other word refuses with that class.
//
//	flow      scheme       authority  match   mismatch   absent     waived  unverifiable  missing
//	generate  file         registry   -       integrity  -          policy  operation     policy
//	verify    file         publisher  -       integrity  warn       -       operation     policy
//	verify    file         registry   -       integrity  -          policy  operation     policy
//	verify    ownership    registry   -       warn       warn       policy  warn          policy
//	verify    ownership    manifest   -       warn       warn       policy  warn          policy
//	verify    form         manifest   -       integrity  warn       policy  operation     policy
//	send      file         publisher  -       integrity  -          warn    operation     policy
//	send      file         registry   -       integrity  -          policy  operation     policy
//	send      ownership    registry   -       warn       warn       policy  warn          policy
//	send      ownership    manifest   -       warn       warn       policy  warn          policy
//	send      form         manifest   -       integrity  warn       policy  operation     policy
//	send      file         record     -       integrity  policy     policy  integrity     policy
//	send      tree         record     -       integrity  policy     policy  integrity     policy
//	send      facet-tar    record     -       integrity  policy     policy  integrity     policy
//	send      api-surface  record     -       integrity  -          policy  integrity     policy
//	send      document     record     -       integrity  policy     policy  integrity     policy
//	send      file         manifest   -       integrity  policy     policy  integrity     policy
//	send      tree         manifest   -       integrity  -          policy  warn          policy
//	send      facet-tar    manifest   -       integrity  policy     policy  integrity     policy
//	send      api-surface  manifest   -       integrity  -          warn    operation     policy
//	send      tree         log        -       integrity  policy     policy  integrity     policy
//	send      facet-tar    log        -       integrity  policy     policy  integrity     policy
//	send      document     log        -       integrity  policy     policy  integrity     policy
//	send      proof        log        -       integrity  warn       policy  integrity     policy
//	send      cosignature  log        -       warn       -          policy  warn          policy
//	send      checkpoint   log        -       warn       warn       policy  warn          policy
//	send      log-key      machine    -       integrity  warn       warn    operation     policy
//	send      dist         manifest   -       integrity  integrity  policy  integrity     integrity
//	send      extent       manifest   -       integrity  -          policy  integrity     policy
//	send      coverage     manifest   -       integrity  warn       policy  integrity     policy
//	send      unhashed     manifest   -       policy     policy     policy  policy        policy
//	accept    file         publisher  -       integrity  -          policy  integrity     policy
//	accept    document     publisher  -       integrity  -          policy  operation     policy
//	accept    file         registry   -       integrity  -          policy  operation     policy
//	accept    ownership    registry   -       policy     policy     -       operation     policy
//	accept    ownership    manifest   -       policy     policy     policy  operation     policy
//	accept    form         manifest   -       integrity  warn       policy  operation     policy
//	accept    file         record     -       integrity  policy     policy  integrity     policy
//	accept    tree         record     -       integrity  policy     policy  integrity     policy
//	accept    facet-tar    record     -       integrity  policy     policy  integrity     policy
//	accept    file         manifest   -       integrity  policy     policy  integrity     policy
//	accept    tree         manifest   -       integrity  -          policy  warn          policy
//	accept    facet-tar    manifest   -       integrity  policy     policy  integrity     policy
//	accept    dist         manifest   -       integrity  integrity  policy  integrity     integrity
//	accept    extent       manifest   -       integrity  -          policy  integrity     policy
//	accept    coverage     manifest   -       integrity  warn       policy  integrity     policy
//	accept    unhashed     manifest   -       policy     policy     policy  policy        policy
//	pin       file         registry   -       integrity  -          policy  operation     policy
//	pin       file         record     -       integrity  warn       policy  operation     policy
//	pin       facet-tar    record     -       integrity  policy     policy  policy        policy
//	pin       api-surface  record     -       drift      warn       warn    operation     policy
//	pin       document     record     -       integrity  -          policy  operation     policy
//	pin       status       record     -       policy     -          warn    operation     policy
//	pin       status       registry   -       policy     -          warn    warn          policy
//	pin       age          project    -       policy     policy     policy  policy        policy
//	pin       advisory     advisories -      warn       policy     policy  operation     policy
//	pin       malware      advisories -      policy     policy     policy  operation     policy
//	pin       file         sidecar    -       integrity  integrity  policy  operation     integrity
//	pin       facet-tar    sidecar    -       integrity  integrity  policy  operation     integrity
//	pin       file         manifest   -       integrity  integrity  policy  integrity     integrity
//	pin       facet-tar    manifest   -       integrity  integrity  policy  operation     integrity
//	pin       facet-tar    log        -       integrity  policy     policy  integrity     policy
//	pin       api-surface  log        -       integrity  integrity  policy  integrity     integrity
//	pin       document     log        -       integrity  policy     policy  integrity     policy
//	pin       status       log        -       policy     -          warn    integrity     policy
//	pin       proof        log        -       integrity  warn       policy  integrity     policy
//	pin       cosignature  log        -       signature  signature  policy  operation     policy
//	pin       checkpoint   log        -       policy     policy     policy  operation     policy
//	pin       finding      log        -       warn       -          policy  integrity     policy
//	pin       log-key      machine    -       integrity  policy     policy  operation     policy
//	pin       file         lock       -       integrity  -          policy  operation     policy
//	pin       tree         lock       -       integrity  -          policy  operation     policy
//	pin       go-module    lock       -       integrity  policy     policy  operation     policy
//	pin       facet-tar    lock       -       integrity  -          policy  operation     policy
//	pin       oci          lock       -       warn       -          policy  operation     policy
//	pin       surface      lock       -       warn       -          policy  operation     policy
//	pin       document     lock       -       integrity  integrity  policy  integrity     integrity
//	pin       launch       lock       -       warn       -          policy  operation     policy
//	pin       pin          lock       -       warn       -          policy  policy        policy
//	pin       import       lock       -       policy     policy     policy  warn          policy
//	pin       file         verify     -       integrity  -          -       operation     policy
//	pin       file         machine    -       warn       -          policy  operation     policy
//	pin       tree         machine    -       warn       -          policy  operation     policy
//	pin       surface      machine    -       drift      -          warn    operation     policy
//	pin       approval     machine    -       policy     policy     policy  policy        policy
//	pin       pin          caller     -       policy     warn       policy  policy        policy
//	launch    file         registry   -       integrity  -          policy  operation     policy
//	launch    file         record     -       integrity  policy     policy  operation     policy
//	launch    facet-tar    record     -       integrity  policy     policy  operation     policy
//	launch    document     record     -       integrity  policy     policy  operation     policy
//	launch    file         sidecar    -       integrity  integrity  policy  operation     integrity
//	launch    tree         sidecar    -       integrity  -          policy  operation     policy
//	launch    facet-tar    sidecar    -       integrity  integrity  policy  operation     integrity
//	launch    file         manifest   -       integrity  integrity  policy  integrity     integrity
//	launch    facet-tar    manifest   -       integrity  integrity  policy  operation     integrity
//	launch    facet-tar    log        -       integrity  policy     policy  integrity     policy
//	launch    document     log        -       integrity  policy     policy  integrity     policy
//	launch    proof        log        -       integrity  -          policy  integrity     policy
//	launch    cosignature  log        -       signature  signature  policy  operation     policy
//	launch    checkpoint   log        -       policy     policy     policy  operation     policy
//	launch    log-key      machine    -       integrity  warn       policy  operation     policy
//	launch    file         lock       -       integrity  policy     policy  operation     policy
//	launch    tree         lock       -       integrity  warn       policy  operation     policy
//	launch    go-module    lock       -       integrity  policy     policy  operation     policy
//	launch    facet-tar    lock       -       integrity  policy     policy  operation     policy
//	launch    document     lock       -       integrity  integrity  policy  integrity     integrity
//	launch    launch       lock       -       policy     policy     policy  operation     policy
//	launch    pin          lock       -       policy     policy     policy  policy        policy
//	launch    unhashed     lock       -       policy     policy     policy  policy        policy
//	launch    import       lock       -       policy     policy     policy  -             policy
//	launch    launch       project    -       policy     policy     policy  policy        policy
//	launch    file         verify     -       integrity  warn       -       operation     policy
//	launch    file         machine    -       policy     warn       policy  operation     policy
//	launch    tree         machine    -       integrity  -          policy  operation     policy
//	launch    launch       machine    -       policy     policy     warn    policy        policy
//	launch    approval     machine    -       policy     policy     warn    policy        policy
//	bare      file         lock       policy  policy     -          policy  policy        policy
//	bare      launch       lock       policy  policy     policy     warn    policy        policy
//	bare      pin          lock       policy  policy     policy     warn    policy        policy
//	bare      file         verify     -       integrity  warn       -       operation     policy
//	bare      file         machine    -       policy     -          policy  policy        policy
//	bare      launch       machine    -       policy     policy     warn    policy        policy
//	bare      approval     machine    -       policy     policy     warn    policy        policy
//	session   surface      lock       -       drift      drift      policy  drift         policy
//	install   file         record     -       integrity  policy     policy  operation     policy
//	install   facet-tar    record     -       integrity  policy     policy  policy        policy
//	install   document     record     -       integrity  -          policy  operation     policy
//	install   status       record     -       policy     -          warn    operation     policy
//	install   file         sidecar    -       integrity  integrity  policy  operation     integrity
//	install   facet-tar    sidecar    -       integrity  integrity  policy  operation     integrity
//	install   file         manifest   -       integrity  integrity  policy  integrity     integrity
//	install   facet-tar    manifest   -       integrity  integrity  policy  operation     integrity
//	install   facet-tar    log        -       integrity  policy     policy  integrity     policy
//	install   api-surface  log        -       integrity  integrity  policy  integrity     integrity
//	install   document     log        -       integrity  policy     policy  integrity     policy
//	install   status       log        -       policy     -          warn    integrity     policy
//	install   proof        log        -       integrity  warn       policy  integrity     policy
//	install   cosignature  log        -       signature  signature  policy  operation     policy
//	install   checkpoint   log        -       policy     policy     policy  operation     policy
//	install   finding      log        -       warn       -          policy  integrity     policy
//	install   log-key      lock       -       integrity  policy     policy  operation     policy
//	install   log-key      machine    -       integrity  policy     policy  operation     policy
//	install   file         lock       -       integrity  -          policy  integrity     policy
//	install   facet-tar    lock       -       integrity  -          policy  operation     policy
//	install   oci          lock       -       drift      -          policy  operation     policy
//	install   document     lock       -       integrity  -          policy  operation     policy
//	install   source       lock       -       policy     -          policy  operation     policy
//	install   tag          lock       -       drift      -          policy  operation     policy
//	install   installed    lock       -       integrity  policy     policy  operation     policy
//	install   unhashed     lock       -       policy     policy     policy  policy        policy
//	install   source       manifest   -       policy     policy     policy  policy        policy
//	install   source       project    -       policy     policy     policy  policy        policy
//	install   approval     machine    -       policy     policy     policy  policy        policy
//	install   installed    machine    -       warn       -          warn    warn          policy
//	check     document     record     -       integrity  policy     policy  operation     policy
//	check     status       registry   -       policy     -          warn    warn          policy
//	check     advisory     advisories -      warn       policy     policy  operation     policy
//	check     malware      advisories -      policy     policy     policy  operation     policy
//	check     file         sidecar    -       integrity  integrity  policy  operation     integrity
//	check     tree         sidecar    -       integrity  -          policy  operation     policy
//	check     facet-tar    sidecar    -       integrity  integrity  policy  operation     integrity
//	check     facet-tar    log        -       integrity  policy     policy  integrity     policy
//	check     api-surface  log        -       integrity  integrity  policy  integrity     integrity
//	check     document     log        -       integrity  policy     policy  integrity     policy
//	check     status       log        -       policy     -          warn    integrity     policy
//	check     proof        log        -       integrity  warn       policy  integrity     policy
//	check     cosignature  log        -       signature  signature  policy  operation     policy
//	check     checkpoint   log        -       policy     warn       policy  operation     policy
//	check     finding      log        -       policy     -          policy  integrity     policy
//	check     log-key      lock       -       integrity  policy     policy  operation     policy
//	check     log-key      machine    -       integrity  policy     policy  operation     policy
//	check     file         lock       -       integrity  policy     policy  operation     policy
//	check     tree         lock       -       integrity  warn       policy  warn          policy
//	check     facet-tar    lock       -       integrity  warn       policy  warn          policy
//	check     oci          lock       -       drift      -          policy  warn          policy
//	check     surface      lock       -       drift      drift      policy  drift         policy
//	check     document     lock       -       integrity  integrity  policy  integrity     integrity
//	check     launch       lock       -       policy     policy     warn    operation     policy
//	check     pin          lock       -       policy     policy     policy  policy        policy
//	check     source       lock       -       policy     policy     policy  operation     policy
//	check     installed    lock       -       integrity  policy     policy  operation     policy
//	check     unhashed     lock       -       policy     policy     policy  policy        policy
//	check     import       lock       -       policy     policy     policy  warn          policy
//	check     source       manifest   -       policy     policy     policy  policy        policy
//	check     launch       project    -       policy     policy     policy  policy        policy
//	check     source       project    -       policy     policy     policy  policy        policy
//	check     file         verify     -       integrity  -          warn    operation     policy
//	check     file         machine    -       policy     -          policy  operation     policy
//	check     tree         machine    -       integrity  -          policy  operation     policy
//	check     surface      machine    -       drift      warn       policy  drift         policy
//	check     launch       machine    -       policy     policy     warn    policy        policy
//	check     approval     machine    -       policy     warn       -       warn          policy
//	check     installed    machine    -       policy     warn       -       warn          policy
//	scan      facet-tar    log        -       integrity  policy     policy  integrity     policy
//	scan      document     log        -       integrity  policy     policy  integrity     policy
//	scan      proof        log        -       integrity  -          policy  integrity     policy
//	scan      cosignature  log        -       signature  signature  policy  operation     policy
//	scan      checkpoint   log        -       policy     policy     policy  operation     policy
//	scan      log-key      machine    -       integrity  warn       policy  operation     policy
//	scan      document     lock       -       integrity  integrity  policy  integrity     integrity
//	scan      launch       lock       -       policy     policy     warn    operation     policy
//	scan      source       lock       -       policy     policy     policy  policy        policy
//	scan      unhashed     lock       -       policy     warn       policy  policy        policy
//	scan      launch       project    -       policy     policy     policy  policy        policy
//	scan      launch       verify     -       warn       warn       -       warn          policy
//	scan      launch       machine    -       policy     policy     policy  policy        policy
//	scan      approval     machine    -       warn       -          policy  warn          policy
//	scan      access       machine    -       policy     policy     -       warn          policy
//	scan      document     caller     -       policy     policy     policy  operation     policy
//	scan      launch       caller     -       policy     policy     -       warn          policy
//	scan      pin          caller     -       policy     policy     -       policy        policy
//	scan      transport    caller     -       policy     policy     -       policy        policy
//	scan      secret       caller     -       warn       warn       -       warn          policy
//	scan      access       caller     -       policy     policy     -       policy        policy
//	validate  file         manifest   -       integrity  integrity  policy  integrity     integrity
//	validate  tree         manifest   -       integrity  -          policy  warn          policy
//	validate  form         manifest   -       validation -          policy  validation    policy
//	validate  dist         manifest   -       integrity  integrity  policy  integrity     integrity
//	validate  extent       manifest   -       integrity  -          policy  integrity     policy
//	validate  coverage     manifest   -       integrity  -          policy  integrity     policy
//	validate  unhashed     manifest   -       integrity  warn       policy  warn          policy
//	plugin    file         registry   -       integrity  -          policy  operation     policy
//	plugin    file         record     -       integrity  policy     policy  operation     policy
//	plugin    tree         record     -       integrity  policy     policy  integrity     policy
//	plugin    document     record     -       integrity  policy     policy  operation     policy
//	plugin    status       record     -       policy     -          warn    operation     policy
//	plugin    file         manifest   -       integrity  integrity  policy  integrity     integrity
//	plugin    tree         manifest   -       integrity  -          policy  warn          policy
//	plugin    tree         log        -       integrity  policy     policy  integrity     policy
//	plugin    document     log        -       integrity  policy     policy  integrity     policy
//	plugin    status       log        -       policy     -          warn    integrity     policy
//	plugin    proof        log        -       integrity  warn       policy  integrity     policy
//	plugin    cosignature  log        -       signature  signature  policy  operation     policy
//	plugin    checkpoint   log        -       policy     policy     policy  operation     policy
//	plugin    finding      log        -       warn       -          policy  integrity     policy
//	plugin    log-key      machine    -       integrity  policy     policy  operation     policy
//	plugin    file         lock       -       integrity  -          policy  operation     policy
//	plugin    installed    lock       -       integrity  policy     policy  operation     policy
//	plugin    file         publisher  -       integrity  -          policy  warn          policy
//	plugin    tree         lock       -       integrity  -          policy  integrity     integrity
//	plugin    dist         lock       -       integrity  -          policy  integrity     policy
//	plugin    document     lock       -       integrity  policy     policy  integrity     policy
//	plugin    extent       lock       -       integrity  -          policy  integrity     policy
//	plugin    signature    lock       -       signature  -          policy  signature     policy
//	plugin    form         manifest   -       validation -          policy  validation    policy
//	plugin    dist         manifest   -       integrity  integrity  policy  integrity     integrity
//	plugin    extent       manifest   -       integrity  -          policy  integrity     policy
//	plugin    coverage     manifest   -       integrity  -          policy  integrity     policy
//	plugin    unhashed     manifest   -       integrity  warn       policy  warn          policy
//	plugin    import       manifest   -       policy     policy     policy  warn          policy
//	plugin    permission   manifest   -       policy     policy     policy  policy        policy
//	plugin    signature    manifest   -       signature  -          policy  warn          policy
//	plugin    statement    manifest   -       signature  -          policy  warn          policy
//	plugin    installed    machine    -       integrity  warn       policy  operation     policy
//	plugin    signature    machine    -       signature  -          policy  signature     policy
//	plugin    statement    machine    -       signature  -          policy  signature     policy
//	plugin    file         caller     -       integrity  -          policy  operation     policy
//	plugin    permission   caller     -       policy     policy     policy  policy        policy
//	plugin    allowlist    caller     -       policy     warn       policy  policy        policy
//	plugin    capability   caller     -       warn       warn       policy  warn          policy
//	plugin    tool         caller     -       warn       warn       policy  warn          policy
//
// What is missing is owed, by the project, the lock, this machine, the caller or the log: no
// row warns of it, and no setting changes what it does.
//
// Five settings change a cell: RequireHashes makes an absent publisher's claim
// "policy", MissingHashes replaces what an absent record's claim does, RequireLock
// makes an absent launch or source "policy", and has a tag that was moved warn, since
// nothing but the locked commit is used then; RequireApproval makes an approval that would
// warn in flow check "policy"; and RefuseWaived makes a claim that somebody
// opted out of "policy" in flow check, and a launch around
// the lock in flow scan, where it also refuses what clients read and no lock covers,
// as flow check does. A claim that is malformed is refused as
// "validation" where the table says "operation". A match under a weak algorithm
// counts as absent, save in a verify block, where it warns.
//
// The settings of flow plugin make cells stricter, none laxer:
//
//	Strict              coverage absent, unhashed: integrity; import unverifiable: policy;
//	                    statement by machine absent: signature; form absent: warn
//	StrictIntegrity     coverage and extent absent, file by publisher absent or
//	                    unverifiable: integrity
//	RequireSignatures   signature by machine absent: signature
//	StrictCapabilities  capability: policy
//	StrictTools         tool: validation
//
// Code that could not be parsed (an import that is unverifiable because it is
// unreadable) is refused as "policy" without any setting.
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
