package dump

// What the tests of this package see besides.
var ReadDump = readDump
