// Package sequences tries what a machine remembers, over sequences of commands: what was approved by a person runs, and
// nothing else; and an ordinary day is quiet.
package sequences
