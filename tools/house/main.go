// Program house measures the source: how large each package is, which of its files need one
// another, how long and how branched functions are, which names and lines are hard to read,
// and what each program links.
//
//	go run -C tools ./house          print all numbers
//	go run -C tools ./house -check   print what is beyond a limit, and fail if anything is
//	go run -C tools ./house -sizes   build each program as well, and print its size
//	go run -C tools ./house -list    name the functions, files and names that are counted
//
// Test files, and the packages of e2e, bench and examples, are not measured.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", "..", "the module's directory")
	check := flag.Bool("check", false, "compare with the limits, and print nothing else")
	sizes := flag.Bool("sizes", false, "build the programs and print their sizes")
	list := flag.Bool("list", false, "name what is counted")
	flag.Parse()
	if err := run(*root, *check, *sizes, *list); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(root string, check, sizes, list bool) error {
	packages, err := loadPackages(root)
	if err != nil {
		return err
	}
	var all []*measures
	for _, p := range packages {
		all = append(all, measure(p))
	}
	if check {
		return checkLimits(all)
	}
	printPackages(all)
	printTotals(all, list)
	return printPrograms(root, sizes)
}

// The limits that -check holds.
const (
	maxFacade   = 800 // lines of the package in the module's directory
	maxFunction = 50  // lines of a function
	maxBranches = 25  // cyclomatic number of a function
	maxParams   = 5   // parameters of a function
	maxColumns  = 120 // of a line, where a tab takes four
	maxFile     = 450 // lines of a file
)

// checkLimits is an error that names every package beyond a limit.
func checkLimits(all []*measures) error {
	var found []string
	for _, m := range all {
		if m.path == "." && m.lines > maxFacade {
			found = append(found, fmt.Sprintf("%s has %d lines, more than %d", m.path, m.lines, maxFacade))
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("beyond the limits:\n  %s", strings.Join(found, "\n  "))
	}
	return nil
}

func printPackages(all []*measures) {
	fmt.Println("package                          lines  files  exported  largest knot of files")
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *measures) int { return cmp.Compare(b.lines, a.lines) })
	for _, m := range sorted {
		fmt.Printf("%-32s %5d  %5d  %8d  %4d\n", m.path, m.lines, m.files, m.exported, len(m.knot))
	}
	fmt.Println()
}

// printTotals adds up what the packages have, and with list names it.
func printTotals(all []*measures, list bool) {
	var sum measures
	for _, m := range all {
		sum.lines += m.lines
		sum.files += m.files
		sum.exported += m.exported
		sum.functions += m.functions
		sum.names += m.names
		for kind, found := range m.findings {
			sum.note(kind, found...)
		}
	}
	fmt.Printf("%d packages, %d files, %d lines, %d functions, %d names, %d exported\n",
		len(all), sum.files, sum.lines, sum.functions, sum.names, sum.exported)
	for _, row := range []struct {
		kind finding
		of   int
		what string
	}{
		{longFunction, sum.functions, fmt.Sprintf("functions longer than %d lines", maxFunction)},
		{branched, sum.functions, fmt.Sprintf("functions with a cyclomatic number over %d", maxBranches)},
		{manyParams, sum.functions, fmt.Sprintf("functions with more than %d parameters", maxParams)},
		{wideLine, sum.lines, fmt.Sprintf("lines wider than %d columns", maxColumns)},
		{longFile, sum.files, fmt.Sprintf("files longer than %d lines", maxFile)},
		{participle, sum.names, "names that are bare participles"},
		{undocumented, sum.exported, "exported names without a comment"},
	} {
		n := len(sum.findings[row.kind])
		fmt.Printf("%6d of %6d, %5.2f %%  %s\n", n, row.of, 100*float64(n)/float64(max(row.of, 1)), row.what)
		if list {
			for _, found := range sum.findings[row.kind] {
				fmt.Println("        ", found)
			}
		}
	}
	fmt.Println()
}
