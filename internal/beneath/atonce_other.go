//go:build !unix

package beneath

// atOnce is nothing where no file that has a name in a checkout is waited for.
const atOnce = 0
