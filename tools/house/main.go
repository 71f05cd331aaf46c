// Program house measures the source: how large each package is, which of its files need one
// another, how long and how branched functions are, which names and lines are hard to read,
// and what each program links.
//
//	go run -C tools ./house          print all numbers
//	go run -C tools ./house -check   fail if anything is beyond a limit and is not in ARCHITECTURE.md, and print it
//	go run -C tools ./house -sizes   build each program as well, and print its size
//	go run -C tools ./house -list    name the functions, files and names that are counted
//
// Of test files only the lines are counted. The packages of e2e, bench and examples are not measured, nor are
// other modules.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
		if err != nil {
			return err
		}
		return checkLimits(all, string(text), changedFiles(root))
	}
	printPackages(all)
	printTotals(all, list)
	if err := printHouse(root, packages); err != nil {
		return err
	}
	return printPrograms(root, sizes)
}

func printPackages(all []*measures) {
	fmt.Println("package                          lines  tests  files  exported  largest knot of files")
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *measures) int { return cmp.Compare(b.lines, a.lines) })
	for _, m := range sorted {
		fmt.Printf("%-32s %5d  %5d  %5d  %8d  %4d\n", m.path, m.lines, m.tests, m.files, m.exported, len(m.knot))
	}
	fmt.Println()
}

// printTotals adds up what the packages have, and with list names it.
func printTotals(all []*measures, list bool) {
	sum := add(all)
	fmt.Printf("%d packages, %d files, %d lines, %d functions, %d names, %d exported\n",
		len(all), sum.files, sum.lines, sum.functions, sum.names, sum.exported)
	for _, row := range []struct {
		kind finding
		of   int
	}{
		{longFunction, sum.functions}, {branched, sum.functions}, {manyParams, sum.functions}, {wideLine, sum.lines},
		{longFile, sum.files}, {participle, sum.names}, {undocumented, sum.exported},
	} {
		n := len(sum.findings[row.kind])
		fmt.Printf("%6d of %6d, %5.2f %%  %s\n", n, row.of, 100*float64(n)/float64(max(row.of, 1)), row.kind)
		if list {
			for _, found := range sum.findings[row.kind] {
				fmt.Println("        ", found)
			}
		}
	}
	fmt.Println()
}
