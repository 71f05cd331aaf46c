//go:build !unix

package beneath

// atOnce is nothing where no file that has a name in a checkout is waited for.
const atOnce = 0

// noFollow is nothing: a link is looked for before a file is opened.
const noFollow = 0
