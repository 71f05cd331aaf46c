package log

// What the tests of this package see besides.
const LogWait = logWait
const WitnessAhead = witnessAhead

var EmptyLog = emptyLog
var SignedBy = signedBy
