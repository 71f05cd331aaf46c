package log

// What the tests outside of this package see besides.
const (
	LogWait      = logWait
	WitnessAhead = witnessAhead
)

var (
	EmptyLog = emptyLog
	SignedBy = checkSigned
)
