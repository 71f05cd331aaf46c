package fetch

import (
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// TestReleases: what a registry says of versions now: when they were published, what their publisher says against
// them, and that they are gone.
func TestReleases(t *testing.T) {
	at := time.Date(2026, 11, 20, 8, 30, 0, 0, time.UTC)
	const packument = `{"versions":{"1.0.0":{"deprecated":""},"1.1.0":{"Deprecated":"no","deprecated":"sends mail"},
		"1.2.0":{"deprecated":true},"1.3.0":{"deprecated":false}},
		"time":{"created":"2020-01-01T00:00:00Z","1.0.0":"2026-11-20T08:30:00.000Z","1.1.0":"2026-11-20T09:30:00+01:00",
		"1.2.0":"yesterday","1.9.0":"2026-11-20T08:30:00Z","1.3.0":7}}`
	const release = `{"info":{"name":"notes","version":"1.0.0"},"urls":[
		{"filename":"notes-1.0.0.tar.gz","url":"BASE/s","upload_time_iso_8601":"2026-11-20T08:30:01Z"},
		{"filename":"notes-1.0.0-py3-none-any.whl","url":"BASE/w","upload_time_iso_8601":"2026-11-20T08:30:00.000000Z",
		"yanked":true,"yanked_reason":"sends mail"}]}`
	const simple = `{"meta":{"api-version":"1.1"},"files":[
		{"filename":"notes-2.0.0-py3-none-any.whl","url":"w","hashes":{},"upload-time":"2026-11-20T08:30:00Z","yanked":"no"},
		{"filename":"notes-2.1.0-py3-none-any.whl","url":"w","hashes":{},"yanked":false}]}`
	s := newSite(t, map[string]string{"/notes": packument, "/pypi/notes/1.0.0/json": release,
		"/simple/notes/": simple, "/silent": "503", "/odd": "<html>"})
	s.kinds["/simple/notes/"] = simpleJSON
	config := testConfig(t)
	config.Limits.Retries = -1
	config.NPM, config.PyPI.Base = settings(map[string]string{"registry": s.base + "/"}), s.base
	c := newClient(t, config)
	for refs, want := range map[string]Release{
		"npm:notes@1.0.0":                      {Published: at},
		"npm:notes@1.1.0":                      {Published: at, Withdrawn: "sends mail"},
		"npm:notes@1.2.0":                      {Withdrawn: "deprecated"},
		"npm:notes@1.3.0":                      {},
		"npm:notes@1.9.0":                      {Published: at, Gone: true},
		"npm:notes@1.10.0":                     {Gone: true},
		"npm:other@1.0.0":                      {Gone: true},
		"pypi:notes==1.0.0":                    {Published: at, Withdrawn: "sends mail"},
		"pypi:notes==1.0.0/notes-1.0.0.tar.gz": {Published: at},
		"pypi:notes==2.0.0/notes-2.0.0-py3-none-any.whl": {Published: at, Withdrawn: "no"},
		"pypi:notes==2.1.0": {},
		"pypi:notes==2.2.0": {Gone: true},
		"pypi:other==1.0.0": {Gone: true},
	} {
		want.Ref = mustRef(t, refs)
		got, err := c.Releases(t.Context(), want.Ref)
		if err != nil || len(got) != 1 || !got[0].Published.Equal(want.Published) {
			t.Errorf("%s: %+v, %v", refs, got, err)
			continue
		}
		got[0].Published = want.Published
		if got[0] != want {
			t.Errorf("%s: %+v", refs, got[0])
		}
	}
	both, err := c.Releases(t.Context(), mustRef(t, "npm:notes@1.1.0"), mustRef(t, "npm:notes@1.0.0"),
		mustRef(t, "npm:notes@1.0.0"))
	if err != nil || len(both) != 3 || !both[0].TakenBack() || both[1].TakenBack() || both[1] != both[2] {
		t.Errorf("%+v, %v", both, err)
	}
	_, err = c.Releases(t.Context(), mustRef(t, "npm:@acme/other@1.0.0"))
	wantError(t, err, evidence.NotFound, "unpublished, or is seen after a login only")
	for _, ref := range []string{"npm:silent@1.0.0", "npm:odd@1.0.0"} {
		_, err := c.Releases(t.Context(), mustRef(t, ref))
		wantError(t, err, evidence.Unreachable)
	}
	if !HasReleases(artifact.NPM) || !HasReleases(artifact.PyPI) || HasReleases(artifact.OCI) || HasReleases("") {
		t.Error("other kinds have releases")
	}
}
