package registry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRepositoryID(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /repos/o/r", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"id":12345678901}`)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	api := GitHub{HTTP: srv.Client(), URL: srv.URL}
	if id, err := api.RepositoryID(t.Context(), "o", "r", ""); id != "12345678901" {
		t.Errorf("id %q, %v", id, err)
	}
	for _, name := range []string{"", "..", "a/b", "x"} {
		if id, err := api.RepositoryID(t.Context(), "o", name, ""); err == nil {
			t.Errorf("repository %q has id %q", name, id)
		}
	}
}
