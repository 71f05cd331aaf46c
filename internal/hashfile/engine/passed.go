package engine

import "slices"

// Passed is what was not looked at, for one reason.
type Passed struct {
	Why   string
	Paths []string // some of them, directories with a slash; none if they are not to be told
	Count int      // of all
}

// maxPassed is how many paths are named for each reason.
const maxPassed = 12

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
	if p.Count++; path == "" || len(p.Paths) == maxPassed {
		return
	}
	if dir {
		path += "/"
	}
	p.Paths = append(p.Paths, path)
}
