package world

import "os"

// The tests' registries and repositories are on loopback, each on a port of its own, and
// projects name them: their user agreed to ask them, as a user does. TestCanary of e2e has
// a user who did not.
func init() { os.Setenv("HALLMARK_ALLOW_HOSTS", "127.0.0.1:*,localhost:*,[::1]:*") }
