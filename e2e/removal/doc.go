// Package removal takes each member, element, line, row and file out of everything that Hallmark reads, one at a time,
// and has every command refuse what is left, write it again, or be excused by a row of
// testdata/harmless.json. What is read is found in the sources of the codecs, so that a new member is demanded of a
// world here.
//
// It has tests alone, which try some of this every day, and all of it with make remove.
package removal
