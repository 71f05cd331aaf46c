// Package lockentry compares an entry of hallmark.lock with what surrounds it: the declaration that it was pinned
// for, the files beside the lock, the approval that this machine keeps, and what the user waived. Whatever starts,
// reviews or checks a server asks it for evidence; it judges nothing and starts nothing.
package lockentry
