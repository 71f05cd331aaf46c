package registry

import "time"

// Limits of a connection.
const (
	HeaderTimeout = 10 * time.Second
	BodyTimeout   = 30 * time.Second
	WriteTimeout  = 60 * time.Second // a publish has its own, as it fetches packages
	IdleTimeout   = 2 * time.Minute
	MaxHeader     = 64 << 10 // bytes, request line included
)

// DefaultTimeout is how long one publish may take.
const DefaultTimeout = 15 * time.Minute
