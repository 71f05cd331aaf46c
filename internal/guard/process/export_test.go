package process

// Sealed reports whether what runs is a copy in memory that nobody can change.
func (m *Image) Sealed() bool { return m.sealed }
