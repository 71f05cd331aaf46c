package host

// Consent is a person's answer to what was shown.
type Consent int

// The answers.
const (
	No       Consent = iota
	Standing         // given beforehand, for whatever is found: --yes
	Given            // to exactly what was shown
)
