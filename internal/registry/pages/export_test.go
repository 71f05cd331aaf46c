package pages

// What the tests of this package see besides.
const CachePage = cachePage
const MaxPage = maxPage
const MaxRows = maxRows
const MaxSurface = maxSurface
