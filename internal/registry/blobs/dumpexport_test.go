package blobs

// What the tests outside of this package see besides.
var ReadDump = readDump
