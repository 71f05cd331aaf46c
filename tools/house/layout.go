package main

import (
	"fmt"
	"os"
	"strings"
)

// printHouse prints how many rooms the house has: packages, the floors on which they stand, files at the root, packages
// that other modules import, and lines.
func printHouse(root string, packages []*source) error {
	files, tests, err := countRootFiles(root)
	if err != nil {
		return err
	}
	public, lines := 0, 0
	for _, p := range packages {
		lines += measure(p).lines
		if isPublic(p) {
			public++
		}
	}
	fmt.Printf("%6d product packages\n%6d floors\n%6d files at the root, of which %d are tests\n%6d public packages "+
		"besides the root\n%6d product lines\n\n", len(packages), countFloors(packages), files, tests, public, lines)
	return nil
}

// countFloors is the number of packages in the longest chain in which each imports the next.
func countFloors(packages []*source) int {
	byPath, floors := map[string]*source{}, map[string]int{}
	for _, p := range packages {
		byPath[p.path] = p
	}
	var floorOf func(path string) int
	floorOf = func(path string) int {
		p := byPath[path]
		if p == nil {
			return 0 // a test's package
		}
		if floors[path] == 0 {
			below := 0
			for _, used := range p.uses {
				below = max(below, floorOf(used))
			}
			floors[path] = below + 1
		}
		return floors[path]
	}
	highest := 0
	for path := range byPath {
		highest = max(highest, floorOf(path))
	}
	return highest
}

// isPublic reports whether other modules can import a package; the root, which is the library itself, is not counted.
func isPublic(p *source) bool {
	return p.path != "." && p.types.Name() != "main" && !strings.Contains("/"+p.path+"/", "/internal/")
}

// countRootFiles counts the files of the module's directory that a visitor sees, and the tests among them.
func countRootFiles(root string) (files, tests int, err error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		files++
		if strings.HasSuffix(e.Name(), "_test.go") {
			tests++
		}
	}
	return files, tests, nil
}
