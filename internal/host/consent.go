package host

// Consent is a person's answer to a question.
type Consent int

// The answers to a question.
const (
	NoConsent       Consent = iota
	StandingConsent         // given beforehand with --yes, whatever the question shows
	InformedConsent         // given to exactly what the question showed
)
