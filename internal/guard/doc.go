// Package guard starts a server from the bytes that were verified and relays
// its standard input and output, withholding what drifted from the approved
// surface.
//
// # Execution
//
// [OpenImage] opens a file once and hashes what it opened; [Exec] runs that open
// file. On Linux a static ELF file up to 64 MiB is copied into a sealed memory
// file while it is hashed, so that not even a writer of the same file can change
// what runs; any other file is executed through its descriptor, so that another
// file under the same name cannot take its place. A script runs as its
// interpreter, an image too, with the script's descriptor as its argument. For the
// JavaScript runtimes node, deno and bun that promise is NOT made, see [Image.ByName]:
// they turn the descriptor back into a name and open that, so the script is hashed again
// and passed by its name, which leaves a moment in which another file can take its
// place. (node --preserve-symlinks-main would run the descriptor, but then neither
// relative imports nor ES modules work.) On other systems every file is
// hashed again and started by its name.
//
// A server has a process group of its own. It gets the signals that the guard gets, and
// what is left of it when the server ends is killed (on Linux and BSD systems).
//
// # Relay
//
// A line is one JSON-RPC message or a batch. [Relay] scans each line for the
// members that route it, in exact case after unescaping, and forwards it byte for
// byte unless one of these rules applies:
//
//   - From either side: invalid JSON, a line over 64 MiB, a carriage return that is
//     not directly before the line feed, an id over 1 KiB, a routing member given
//     twice or in other letter case, a message that is both a request and an
//     answer. The client gets a JSON-RPC error; what the server sent is dropped,
//     with a line on standard error, and the request it answers, where that can
//     be told, is answered with an error.
//   - An answer that no pending request waits for is dropped, and so is a second
//     one. A request under an id that is pending is refused. Ids are compared by
//     JSON type and value.
//   - Guarded requests (tools/call, prompts/get, resources/read,
//     resources/subscribe, completion/complete, tasks/...) wait until the guard
//     itself has listed the whole surface of this process and compared it with
//     the approved one, and again after each list_changed notification. Pings,
//     listings, answers to the server and everything else pass meanwhile. With
//     initialize the listing begins after notifications/initialized, and a guarded
//     request before is refused; in stateless protocol versions it begins after
//     the answer to server/discover or with the first guarded request, with that
//     request's _meta.
//   - In every listing's answer, items that are new, changed, malformed or given
//     twice are cut out, and so are changed instructions of an initialize or
//     discover result. Guarded requests that name such an item, or one that was
//     never approved, are answered with an error that says why.
//
// A resource may be read under a URI that no listing holds: it is refused if it
// matches a drifted template or is another spelling of a drifted resource, and
// else forwarded where the server offers resources, because a URI that a model
// was never shown is no part of the surface.
//
// What is remembered of a server is bounded. An item whose name is over 4 KiB is
// malformed and known by the digest of its name. When more drifted than can be
// remembered, everything of that kind is refused until the session ends.
//
// Results of calls, logs and progress are not surface and are not looked at.
package guard
