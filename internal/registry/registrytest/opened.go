package registrytest

import (
	"io"
	"testing"
)

// RequireOpen ends the test unless a database was opened, and closes it after the test.
func RequireOpen[DB io.Closer](t testing.TB, db DB, err error) DB {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
