package pages

// What the tests outside of this package see besides.
const (
	CachePage  = cachePage
	MaxPage    = maxPage
	MaxRows    = maxRows
	MaxSurface = maxSurface
)
