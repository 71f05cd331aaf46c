package project

import (
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/launcher"
)

// kindHTTP is a server that is reached by its URL, which is its ref. Only what it shows can be locked.
var kindHTTP = serverKind{
	name: KindHTTP, title: "a server that is reached by its URL", remote: true,
	declared: func(s Server, _ launcher.Target) bool { return s.Remote() },
	checkRef: func(s ServerLock) error {
		if err := checkURL(s.Ref); err != nil || s.Ref != s.Launch.URL {
			return fmt.Errorf("ref %+q is not the URL of a server", s.Ref)
		}
		return nil
	},
	checkEntry: func(s ServerLock) error {
		if len(s.Artifacts) > 0 || s.Entry != "" || s.Closure != nil || s.Record != nil {
			return errors.New("a server that is reached by its URL has neither artifacts nor entry, closure or record")
		}
		return nil
	},
	own: &ownMembers{
		in:        func(s ServerLock) bool { return s.Launch.URL != "" || s.Launch.Headers != nil },
		misplaced: "is not reached by a URL, and has one",
	},
}
