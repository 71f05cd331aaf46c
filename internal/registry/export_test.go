package registry

// What the tests of this package see besides.
var Subject = subject
