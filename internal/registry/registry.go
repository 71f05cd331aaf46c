package registry

// Validation is what a registry does about the claims of a document.
type Validation string

// The validations: the steps by which a registry adopts file hashes.
const (
	// Off stores claims as they are. Check is not called, so that neither hashes
	// nor ownership are looked at.
	Off Validation = "off"
	// Observe recomputes, counts and records failures, and publishes in spite of
	// them. Ownership is enforced.
	Observe Validation = "observe"
	// Enforce refuses a document of which any claim fails. It is the default.
	Enforce Validation = "enforce"
)
