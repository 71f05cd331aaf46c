// Package registry holds what an MCP registry is made of: the records of servers and archives,
// their findings, statuses and tokens, the forms in which they are answered, and what is asked
// of a database ([Records], [ArchiveRecords], [Statuses], [Findings], [Imports], [Tokens],
// [Entries]), of a store of archives ([Blobs]) and of the place of a log's head ([Heads]).
//
// The packages in its directory are layered, and each imports only packages of the lines above its own:
//
//	sqldb                     what databases share
//	blobs, client             archives, calls to a registry
//	sqlite, postgres, log     databases, the signed log
//	api                       a registry for programs
//	pages                     the same for people, and both as one handler
//
// Package registrytest has the conformance suites of databases and heads.
//
// # Archives
//
// What a registry publishes is of a kind ([ArchiveKind]), each a value in one table, which reads its archives:
// the .facet of a facet and of a server that is packed from source, and the zip of a plugin. What an archive
// claims of itself is recomputed from its bytes.
//
// # Who may publish
//
// A [Permission] allows an action on the names that it matches, and a [Grant] holds permissions. An author
// logs in by a [Proof], which a [ProofKey] signs, or by a token of GitHub ([GitHub]) or of another issuer; package
// api exchanges these for grants.
//
// # Tokens
//
// A login gives a JWT that is signed with Ed25519 (header alg EdDSA), is valid for five
// minutes, and has the claims of the official registry:
//
//	{
//	  "iss": "mcp-registry", "iat": …, "nbf": …, "exp": …,
//	  "auth_method": "dns",
//	  "auth_method_sub": "example.com",
//	  "permissions": [{"action": "publish", "resource": "com.example/*"}]
//	}
//
// Every replica that has the same key takes it; nothing is stored. An API token lives
// longer and is an entry of the registry's tokens: "hlmk_" and 43 characters of base64url, which are
// 32 random bytes. Only the SHA-256 of its text is kept.
//
// A resource is a name, or the beginning of names when it ends in "*"; "*" alone is
// every name. Letters count as they are written.
//
// # Proofs
//
//	dns   a TXT record of the domain itself   com.example/* and com.example.*
//	http  https://DOMAIN/.well-known/mcp-registry-auth, at most 4,096 bytes, no
//	      redirects                            com.example/*
//
// Both hold one or several records of the form
//
//	v=MCPv1; k=ed25519; p=BASE64          the 32 bytes of the key
//	v=MCPv1; k=ecdsap384; p=BASE64        the 49 bytes of the compressed point
//
// The login sends the domain, the time now (RFC 3339, at most 15 seconds off) and the
// signature of that text in hexadecimal: 64 bytes of Ed25519, or 96 of ECDSA over
// SHA-384, R and S in 48 bytes each. A domain is a name with a dot: no address, no port,
// nothing below github.io, where who may write to one repository could speak for an
// organisation.
//
//	github-at    a GitHub access token        io.github.USER/*, and io.github.ORG/* for
//	                                          each organisation that USER owns
//	github-oidc  a token of GitHub Actions    io.github.REPOSITORY_OWNER/*
//	oidc         an ID token of one issuer    what the operator says
//	none         nothing                      io.modelcontextprotocol.anonymous/*
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
