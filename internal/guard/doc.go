// Package guard relays between a server and its client, and withholds what drifted from the approved
// surface. The server is a [process.Process]; what it shows is judged by package guard.
//
// # Relay
//
// A line is one JSON-RPC message or a batch. [Relay] scans each line for the members that route it,
// in exact case after unescaping, and forwards it byte for byte unless one of these rules applies:
//
//   - From either side: invalid JSON, a line over 64 MiB, a carriage return that is
//     not directly before the line feed, an id over 1 KiB, a routing member given
//     twice or in other letter case, a message that is both a request and an
//     answer. The client gets a JSON-RPC error; what the server sent is dropped,
//     with a line on standard error, and the request that it answers is ended with an error:
//     the one whose id can be read, leniently; or else, once no more requests wait than
//     answers were lost, all of these, subscriptions excepted. So it is with an answer whose id is
//     null or left out, and with one that is spread over several lines: what begins a line
//     with a brace or bracket goes on in the next ones, until it closes or a line is a message. Each
//     notification of the client explains one answer without an id that is empty or says that
//     there is no such method, until a later request is answered. What a server merely prints ends nothing.
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
//     room for text: see package guard. Everything else is left out, with a line on standard
//     error. The server's name is the one that its user gave it, a cursor is replaced by
//     another name (cursor.go), and the reason of an error is quoted and cut.
//   - In every listing's answer, items that are new, changed, malformed or given
//     twice are cut out, and so are changed instructions of an initialize or
//     discover result. Guarded requests that name such an item, or one that was
//     never approved, are answered with an error that says why.
//
// An approved tool or prompt that the guard's last listing did not show is refused for that reason.
// Its absence is a notice, and no drift: clients of another kind may be shown it.
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
// Results of calls, logs and progress are not surface and are not inspected, except for what they ask
// of the client if [Options] say to log or deny that: the requests in a result of type input_required,
// and the error that sends the user to a URL. Where they are denied the call is answered with an error.
//
// In stateless protocol versions a server announces changes only to clients that subscribe, so each
// listing and each introduction that the client gets is judged by itself. A tool that changes without
// an announcement, after the client has listed it and before it calls it, is called: the model was
// never shown the new one.
//
// # Listings
//
// What a server shows is listed whole: all items of a kind, page by page, within bounds.
//
// # What is left out
//
// What no digest covers is left out of a server's introduction and of its listings.
//
// What a server says of itself, and around the items of a listing, is in no digest. So only what has
// no room for text of the server is passed on: the members that the protocol names, with values that
// are numbers, words of the protocol and versions. Everything else is left out, whether the protocol
// knows it or not. Three things cannot be left out because clients need them, and are replaced: the
// server's name by the one that its user gave it, the cursor of a page by a name that the caller
// makes, and the reason of an error by a quotation of it.
//
// # Drift
//
// The guard knows what one server process has shown, judges each item of it against the approved
// surface, and says why something must not be used.
//
// Nothing that drifted is forgotten: when it is more than can be remembered, everything of that kind
// is refused until the session ends.
//
// # Capture
//
// The whole surface of a server is read as by a client that calls nothing.
package guard
