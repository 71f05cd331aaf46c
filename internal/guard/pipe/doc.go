// Package pipe reads and writes the byte streams between a client, the guard and a server, so that a
// read or write that waits can be ended from another goroutine, and notices when a peer leaves.
//
// A [Source] that was stopped still delivers what was on its way. On Linux every file can be
// stopped; elsewhere only those that belong to the guard.
package pipe
