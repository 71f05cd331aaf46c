package main

import "context"

// benchmark is what adds rows to the table.
type benchmark struct {
	names []string // for -only; rows begin with the first, or with another of them
	rows  int      // that it adds at least, of any size; a section counts as one
	run   func(context.Context, options, *table) error
}

// benchmarks are all of them, in the order of the table.
var benchmarks = []benchmark{
	{[]string{"P1"}, 2, benchHash},
	{[]string{"P2"}, 2, benchTree},
	{[]string{"P3", "P3b"}, 4, benchPlugin},
	{[]string{"P4"}, 3, benchInstall},
	{[]string{"P10"}, 2, benchCheck},
	{[]string{"P5"}, 3, benchCalls},
	{[]string{"P6"}, 1, benchStart},
	{[]string{"P12"}, 1, benchSurface},
	{[]string{"P6"}, 2, benchRun},
	{[]string{"P7", "P9"}, 10, benchRegistry},
	{[]string{"P8"}, 7, benchScale},
	{[]string{"P11", "hashfile"}, 22, benchHashfile},
	{[]string{"LOG"}, 2, benchLog},
	{[]string{"mistakes"}, 1, benchMistakes},
	{[]string{"edits"}, 1, benchEdits},
}

// sizes are how much is measured.
type sizes struct {
	file                       int   // P1: bytes of a file
	treeFiles, treeBytes       int   // P2
	pluginFiles, pluginBytes   int   // P3: as of plugins that are published with their packages
	facets                     int   // P4
	entries                    int   // P10: of the smaller lock
	calls                      int   // P5: enough for a guard to collect garbage
	closureFiles, closureBytes int   // P6
	versions                   int   // P7 and P9: records
	few, million               int   // P8: records of the small and of the large database
	editFiles                  []int // P11: bytes of each
	sessionEdits               int   // P11: that one session makes
	searchFiles                int   // P11
	tools                      int   // P12
	log                        int   // LOG: entries
	trials                     int   // mistakes: edits that each figure comes from
	tasks                      int   // edits
	peers                      bool  // whether references are compared with that come from the network
}

// whole is what the results are of.
func whole() sizes {
	return sizes{
		file: 1 << 30, treeFiles: 20_000, treeBytes: 92_000_000, pluginFiles: 608, pluginBytes: 3_600_000, facets: 200,
		entries: 1000, calls: 40_000, closureFiles: 3000, closureBytes: 24_000_000, versions: 187_000, few: 10_000,
		million: 1_000_000, editFiles: []int{100 << 10, 10 << 20, 60 << 20}, sessionEdits: 1000, searchFiles: 20_000,
		tools: 500, log: 1_000_000, trials: 20_000, tasks: 2000, peers: true,
	}
}

// small is as little as makes every row.
func small() sizes {
	return sizes{
		file: 1 << 20, treeFiles: 20, treeBytes: 20_000, pluginFiles: 3, pluginBytes: 10_000, facets: 2,
		entries: 3, calls: 10, closureFiles: 5, closureBytes: 5000, versions: 100, few: 50,
		million: 100, editFiles: []int{10 << 10, 1 << 20}, sessionEdits: 3, searchFiles: 100,
		tools: 3, log: 300, trials: 10, tasks: len(editKinds),
	}
}
