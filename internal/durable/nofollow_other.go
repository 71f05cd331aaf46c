//go:build !unix

package durable

// itself is nothing where no file that has a name in a directory is waited for. What a link
// that is opened leads to is another file than the link, which TryLock finds.
const itself = 0
