package dump

// What the tests outside of this package see besides.
var ReadDump = readDump
