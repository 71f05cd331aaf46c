package api

// What the tests of this package see besides.
const CacheCheckpoint = cacheCheckpoint
const CacheTile = cacheTile
const MaxLoginBody = maxLoginBody
const MaxSkipped = maxSkipped
const RetryAfter = retryAfter

var Verified = verified
