package client

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestDocument: a URL is asked for as it was given, since its query may be signed.
func TestDocument(t *testing.T) {
	asked := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.RequestURI
		w.Write([]byte(`{"name":"a"}`))
	}))
	defer s.Close()
	const path = "/a%2Fb/server.json?b=2&a=1%2F&sig=x;y"
	if got, err := Document(t.Context(), s.URL+path, 100); err != nil || string(got) != `{"name":"a"}` || asked != path {
		t.Errorf("%s of %s, %v", got, asked, err)
	}
	if _, err := Document(t.Context(), s.URL, 5); err == nil {
		t.Error("what is longer is read")
	}
}
