// Package registry holds what an MCP registry is made of: the records of servers and archives,
// their findings, statuses and tokens, the forms in which they are answered, and what is asked
// of a database ([Records], [ArchiveRecords], [Statuses], [Findings], [Imports], [Tokens],
// [Entries]), of a store of archives ([Blobs]) and of the place of a log's head ([Heads]).
//
// The packages in its directory are layered, and each imports only packages of the lines above its own:
//
//	archivesql, logsql, tokensql     statements that databases share
//	blobs, client, kinds             archives, calls to a registry, what it publishes
//	auth, login, github              who may publish what, and how somebody logs in
//	logkey, migrations, style        keys of the log, changes of databases, what pages look like
//	sqlite, postgres, log, dump      databases, the signed log, exports
//	api                              a registry for programs
//	pages                            the same for people
//	server                           both, as one handler
//
// Package registrytest has the conformance suites of databases and heads.
//
// # Github
//
// It asks GitHub's API about users and repositories, for logins of a registry and
// for authors who begin a server.json.
//
// An answer has at most 2 MiB and comes from the host that was asked: redirects are not followed.
package registry

// Validation is what a registry does about the claims of a document.
type Validation string

// The validations: the steps by which a registry adopts file hashes.
const (
	// Off stores claims as they are. Check is not called, so that neither hashes
	// nor ownership are looked at.
	Off Validation = "off"
	// Observe recomputes, counts and records failures, and publishes in spite of
	// them. Ownership is enforced.
	Observe Validation = "observe"
	// Enforce refuses a document of which any claim fails. It is the default.
	Enforce Validation = "enforce"
)
