package api

// What the tests outside of this package see besides.
const (
	CacheCheckpoint = cacheCheckpoint
	CacheTile       = cacheTile
	MaxLoginBody    = maxLoginBody
	MaxSkipped      = maxSkipped
	RetryAfter      = retryAfter
)

var (
	Verified = isVerified
)
