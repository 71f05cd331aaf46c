package engine

import "slices"

// Passed is what was not looked at, for one reason.
type Passed struct {
	Why   string
	Paths []string // some of them, directories with a slash; none if they are not to be told
	Count int      // of all
}

// How many paths are named for a reason. Nobody looks for a word in a picture: of what is binary a few are enough.
const (
	maxPassed  = 12
	maxBinary  = 3
	binaryFile = "binary"
)

// passedOver collects what is not looked at.
type passedOver struct{ all []Passed }

// add adds a path; "" is one that is not to be told.
func (c *passedOver) add(path string, dir bool, why string) {
	i := slices.IndexFunc(c.all, func(p Passed) bool { return p.Why == why })
	if i < 0 {
		i = len(c.all)
		c.all = append(c.all, Passed{Why: why})
	}
	p := &c.all[i]
	limit := maxPassed
	if why == binaryFile {
		limit = maxBinary
	}
	if p.Count++; path == "" || len(p.Paths) == limit {
		return
	}
	if dir {
		path += "/"
	}
	p.Paths = append(p.Paths, path)
}
