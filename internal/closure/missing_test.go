package closure

import "testing"

// What its registry does not have is said in one line, whichever program asked for it; what the declaration does not
// name stays as the program says it.
func TestFindMissing(t *testing.T) {
	const notarget = "npm error code ETARGET\nnpm error notarget No matching version found for "
	const unsolved = "error: No solution found when resolving dependencies\n  cause: Because "
	const none, denied = "the registry has no version ", ", or does not show it to you"
	for _, c := range []struct{ subject, said, want string }{
		{"npm:@acme/ntoes", "npm error code E404\nnpm error 404  The requested resource '@acme/ntoes@*' could not be " +
			"found or you do not have permission to access it.\nnpm error 404", "the registry has no package @acme/ntoes" + denied},
		{"npm:ntoes@1", "npm error 404  'ntoes@1' is not in this registry.", "the registry has no package ntoes" + denied},
		{"pypi:ntoes", unsolved + "ntoes was not found in the package registry and you require ntoes, it is " +
			"unsatisfiable.", "the registry has no package ntoes" + denied},
		{"npm:notes@1", "npm error 404  'gone@1' is not in this registry.", ""},
		{"npm:@acme/notes@99.1.1", notarget + "@acme/notes@99.1.1.\nnpm error", none + "99.1.1 of @acme/notes"},
		{"npm:notes@>=99", notarget + "notes@>=99.", none + ">=99 of notes"},
		{"npm:notes@next", notarget + "notes@next.", none + "next of notes"},
		{"pypi:notes==99.1", unsolved + "there is no version of notes==99.1 and you require notes==99.1, we can conclude " +
			"that your requirements are unsatisfiable.", none + "99.1 of notes"},
		{"pypi:notes[cli]>=99.1", unsolved + "only notes<=1.17.0 is available and you require notes[cli]>=99.1, we can " +
			"conclude that", none + ">=99.1 of notes[cli]"},
		{"npm:notes@1", notarget + "gone@2.", ""}, // which notes depends on
	} {
		switch err := findMissing(c.subject, []byte(c.said)); {
		case err == nil && c.want != "":
			t.Errorf("%s: nothing, want %s", c.subject, c.want)
		case err != nil && err.Error() != c.want:
			t.Errorf("%s: %v, want %s", c.subject, err, c.want)
		}
	}
}
