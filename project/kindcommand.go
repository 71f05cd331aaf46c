package project

import (
	"errors"
	"slices"
)

// kindCommand is a program on this machine; its file is the artifact. Every command line that is of no other
// kind is of this one.
var kindCommand = serverKind{
	name: KindCommand, title: "a command", local: true,
	checkEntry: func(s ServerLock) error {
		if s.Entry != "" || s.Closure != nil {
			return errors.New("a command has neither entry nor closure")
		}
		return nil
	},
	checkLaunch: func(s ServerLock) error {
		if !slices.Equal(s.Arguments, s.Launch.Arguments) || !slices.Equal(s.Variables, s.Launch.Variables) {
			return errors.New("gets other arguments or variables than it is declared with")
		}
		return nil
	},
}
