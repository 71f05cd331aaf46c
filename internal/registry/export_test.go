package registry

// What the tests outside of this package see besides.
var Subject = entryPublisher
