package host

// Consent is a person's answer to a question.
type Consent int

// The answers to a question.
const (
	No       Consent = iota
	Standing         // given beforehand with --yes, whatever the question shows
	Given            // given to exactly what the question showed
)
