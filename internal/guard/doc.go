// Package guard starts a server from the bytes that were verified, or connects to a
// remote one, and relays between it and its client, withholding what drifted from the
// approved surface.
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
// A server has a session of its own, without a controlling terminal. It gets the signals that
// the guard gets, and what it started ends with it; see package descend for how far that goes.
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
//     with a line on standard error, and the request it answers is answered with an
//     error: the one whose id can be read, leniently, or else those of which no more wait
//     than answers were lost.
//   - An answer that no pending request waits for is dropped, and so is a second
//     one. A request under an id that is pending is refused. Ids are compared by
//     JSON type and value.
//   - Guarded requests (tools/call, prompts/get, resources/read,
//     resources/subscribe, subscriptions/listen, completion/complete, tasks/...) wait until the guard
//     itself has listed the whole surface of this process and compared it with
//     the approved one, and again after each list_changed notification. Pings,
//     listings, answers to the server and everything else pass meanwhile. With
//     initialize the listing begins after notifications/initialized, and a guarded
//     request before is refused; in stateless protocol versions it begins after
//     the answer to server/discover or with the first guarded request, with that
//     request's _meta.
//   - The answers to initialize and server/discover, and those to listings around their
//     items, hold nothing but the members that the protocol names, with values that have no
//     room for text: see prune.go. Everything else is left out, with a line on standard error.
//     The server's name is the one that its user gave it, another name stands for a cursor
//     (cursor.go), and the reason of an error is quoted and cut.
//   - In every listing's answer, items that are new, changed, malformed or given
//     twice are cut out, and so are changed instructions of an initialize or
//     discover result. Guarded requests that name such an item, or one that was
//     never approved, are answered with an error that says why.
//
// An approved tool or prompt that the guard's last listing did not show is refused with that.
// That it is absent is a notice, and no drift: clients of another kind may be shown it.
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
// Results of calls, logs and progress are not surface and are not looked at, but for what
// they ask of the client if [Options] say to log or deny that: the requests in a result of
// type input_required, and the error that sends the user to a URL. Where they are denied the
// call is answered with an error.
//
// In stateless protocol versions a server announces changes to those only who subscribe, so
// each listing and each introduction that the client gets is judged by itself. A tool that is
// changed without a word, after the client has listed it and before it calls it, is called: the
// model was never shown the new one.
//
// # Remote servers
//
// [Connect] makes a [Process] of a server that is reached by streamable HTTP. Each line is
// one POST to its URL; the lines of the server come from the answers, JSON or streams of
// events, and from the stream that is opened by GET after notifications/initialized. A stream
// that breaks off is taken up after its last event, five times without a new one. Redirects
// are refused, so that headers go nowhere else. The session's id and the protocol version are
// sent as the protocol says, from version 2026-07-28 on also the method, the name and the
// arguments that a tool's schema asks to repeat in headers.
//
// Bounded are: an answer and an event (64 MiB), a response's headers (64 KiB), requests without
// an answer (256), and the wait for a notification to be taken (30 s). A call may take any time.
// What cannot be had from the server is answered with an error; a server that has forgotten the
// session ends it, with exit code 1.
package guard
