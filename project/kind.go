package project

// serverKind says what the lock entries of one kind look like, and what they owe. A function that is nil has nothing
// to refuse or to fill in.
type serverKind struct {
	name    ServerKind
	title   string   // in messages: "a package of PyPI"
	remote  bool     // it is reached by its URL, and no bytes of it are locked
	engines []string // one of which has resolved the closure that an entry owes; nil: it has none
	scripts bool     // its closure may name packages whose install scripts are run

	checkRef    func(ServerLock) error // refuses a ref that is not of this kind
	checkEntry  func(ServerLock) error // refuses an entry that does not lead into what ref names; never nil
	checkLaunch func(ServerLock) error // refuses a launch that is not the declared one
	complete    func(*ServerLock)      // fills in what the entry implies and its text leaves out
	own         *ownMembers            // nil: it has no member that other kinds do not have
}

// ownMembers are members of a lock entry that only one kind has.
type ownMembers struct {
	in    func(ServerLock) bool // whether an entry has one of them
	stray string                // what is wrong with an entry of another kind that has
}
