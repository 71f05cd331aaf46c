package registry

import (
	"context"
	"os"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/postgres"
)

// cluster is one PostgreSQL for the tests of this package that leave it running.
var cluster *postgres.Server

func TestMain(m *testing.M) {
	code := m.Run()
	if cluster != nil {
		cluster.Close()
	}
	os.Exit(code)
}

func startCluster(t testing.TB) *postgres.Server {
	t.Helper()
	if cluster == nil {
		var err error
		if cluster, err = postgres.Create(); err != nil {
			if os.Getenv("CI") != "true" {
				t.Skip(err)
			}
			t.Fatal(err)
		}
	}
	return cluster
}

// openPostgresTest gives empty records in a database of their own.
func openPostgresTest(t testing.TB) *Postgres {
	t.Helper()
	url, err := startCluster(t).Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return reopenPostgres(t, url)
}

func reopenPostgres(t testing.TB, url string) *Postgres {
	t.Helper()
	db, err := OpenPostgres(context.Background(), url)
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

func TestPostgresRecords(t *testing.T) {
	testRecords(t, func(t *testing.T) Records { return openPostgresTest(t) })
}

// The same, with no filter so selective that its index is used.
func TestPostgresRecordsScanned(t *testing.T) {
	testRecords(t, func(t *testing.T) Records {
		db := openPostgresTest(t)
		db.fewNames, db.fewUpdates = 0, 0
		return db
	})
}
