package serverjson

import (
	"strings"
	"testing"
)

func TestFill(t *testing.T) {
	for name, c := range map[string]struct{ raw, set, want string }{
		"placeholders": {`{"version": "${VERSION}", "packages": [{"identifier": "ghcr.io/a/b:{{ version }}", "version":"{{version}}"}],` +
			` "file_hashes": {"npm:a@${version}": "x"}}`, "version=1.2.3",
			`{"version": "1.2.3", "packages": [{"identifier": "ghcr.io/a/b:1.2.3", "version":"1.2.3"}], "file_hashes": {"npm:a@1.2.3": "x"}}`},
		"another name": {`{"name": "io.github.${OWNER}/n", "version": "${VERSION}"}`, "owner=acme", `{"name": "io.github.acme/n", "version": "${VERSION}"}`},
		"escaped":      {`{"title": "${T}"}`, `T=a"b`, `{"title": "a\"b"}`},
		"none":         {`{"version": "1.0.0"}`, "owner=acme", ""},
		"no JSON":      {`{"version": `, "version=1.0.0", ""},
		"every version": {"{\n  \"version\": \"1.0.0\",\n  \"packages\": [ {\"version\":\"1.0.0\"}, {\"version\" : \"2.0.0\"} ]\n}\n", "version=1.0.1",
			"{\n  \"version\": \"1.0.1\",\n  \"packages\": [ {\"version\":\"1.0.1\"}, {\"version\" : \"2.0.0\"} ]\n}\n"},
		"addresses": {`{"version":"1.0.0","packages":[{"identifier":"https://example.com/v1.0.0/notes-1.0.0-linux.mcpb"},{"identifier":"ghcr.io/a/b:v1.0.0"},` +
			`{"identifier":"ghcr.io/a/b:11.0.0"},{"identifier":"ghcr.io/a/b:1.0.0-rc.1"},{"identifier":"ghcr.io/a/b:1.0.0.1"},{"identifier":"a"}]}`, "version=1.1.0",
			`{"version":"1.1.0","packages":[{"identifier":"https://example.com/v1.1.0/notes-1.1.0-linux.mcpb"},{"identifier":"ghcr.io/a/b:v1.1.0"},` +
				`{"identifier":"ghcr.io/a/b:11.0.0"},{"identifier":"ghcr.io/a/b:1.0.0-rc.1"},{"identifier":"ghcr.io/a/b:1.0.0.1"},{"identifier":"a"}]}`},
		"location": {`{"version":"1.0.0","package_location":{"type":"url","url":"https://example.com/1.0.0.tgz"}}`, "version=2.0.0",
			`{"version":"2.0.0","package_location":{"type":"url","url":"https://example.com/2.0.0.tgz"}}`},
		"location of a release": {`{"version":"1.0.0","package_location":{"type":"github","package_name":"a/b","version":"v1.0.0"}}`, "version=2.0.0",
			`{"version":"2.0.0","package_location":{"type":"github","package_name":"a/b","version":"v2.0.0"}}`},
		"location in one": {`{"version":"1.0.0","package_location":{"type":"npm","package_name":"a@1.0.0"}}`, "version=2.0.0",
			`{"version":"2.0.0","package_location":{"type":"npm","package_name":"a@2.0.0"}}`},
		"mixed": {`{"version":"1.0.0","packages":[{"version":"1.0.0"},{"version":"${VERSION}"}]}`, "version=1.1.0",
			`{"version":"1.1.0","packages":[{"version":"1.1.0"},{"version":"1.1.0"}]}`},
		"a quote at its end":     {`{"title":"${T}"}`, `T=a"`, `{"title":"a\""}`},
		"an image by its digest": {`{"version":"1.0.0","packages":[{"identifier":"ghcr.io/a/b:1.0.0@sha256:aa"}]}`, "version=1.1.0", ""},
		"another pre-release": {`{"version":"1.0.0","packages":[{"version":"1.0.0-canary.3"},{"version":"v1.0.0"}]}`, "version=1.1.0",
			`{"version":"1.1.0","packages":[{"version":"1.0.0-canary.3"},{"version":"v1.1.0"}]}`},
		"a directory that goes on": {`{"version":"1.0.0","packages":[{"identifier":"https://example.com/v1.0.0-canary.3/n.mcpb"},{"identifier":"ghcr.io/a/b:1.0.0-canary"}]}`, "version=1.1.0",
			`{"version":"1.1.0","packages":[{"identifier":"https://example.com/v1.0.0-canary.3/n.mcpb"},{"identifier":"ghcr.io/a/b:1.0.0-canary"}]}`},
		"a short version": {`{"version":"1","packages":[{"identifier":"https://example.com/v1/notes-1.mcpb"}]}`, "version=2",
			`{"version":"2","packages":[{"identifier":"https://example.com/v1/notes-1.mcpb"}]}`},
		"an escaped version": {`{"version":"1.0.0+b","packages":[{"identifier":"https://example.com/v1.0.0%2Bb/n.mcpb"}]}`, "version=1.0.1+b",
			`{"version":"1.0.1+b","packages":[{"identifier":"https://example.com/v1.0.1%2Bb/n.mcpb"}]}`},
		"of another form":   {`{"version":1,"packages":[1,{"version":2}]}`, "version=1.0.0", ""},
		"no version at all": {`{"packages":[{"version":"1.0.0"}]}`, "version=1.0.1", ""},
	} {
		key, value, _ := strings.Cut(c.set, "=")
		got, filled, err := Fill([]byte(c.raw), key, value)
		if c.want == "" && err == nil || c.want != "" && (err != nil || string(got) != c.want || len(filled) == 0) {
			t.Errorf("%s: %v %v\n%s\n%s", name, err, filled, got, c.want)
		}
	}
}

// A version that is there already is no error, so that a release may be run again.
func TestFillAgain(t *testing.T) {
	const raw = `{"version":"1.0.0"}`
	if got, filled, err := Fill([]byte(raw), "version", "1.0.0"); err != nil || string(got) != raw || len(filled) > 0 {
		t.Errorf("%s, %v, %v", got, filled, err)
	}
}

// What SetHashes writes is the same when it is written again, and what has no place for hashes is an error.
func TestSetHashes(t *testing.T) {
	const zeros = "0000000000000000000000000000000000000000000000000000000000000000"
	head := `"$schema":"` + CurrentSchema + `","name":"io.github.acme/notes","description":"d","version":"1.0.0"`
	bundle := `{"registryType":"mcpb","identifier":"https://example.com/n.mcpb","transport":{"type":"stdio"}`
	hash := FileHash{Key: "https://example.com/n.mcpb", Value: "sha256:" + strings.Repeat("ab", 32)}
	hash.Ref = parse(t, hash.Key)
	for name, c := range map[string]struct {
		raw  string
		meta bool
		want []string // parts of the text
		was  int      // hashes that are replaced
	}{
		"added":     {`{` + head + `,"packages":[` + bundle + `}]}`, false, []string{`"fileSha256":"abab`, `"file_hashes":{"https`}, 0},
		"replaced":  {`{` + head + `,"packages":[` + bundle + `,"fileSha256":"` + zeros + `"}]}`, false, []string{`"fileSha256":"abab`, `"file_hashes":{"https`}, 1},
		"malformed": {`{` + head + `,"packages":[` + bundle + `}],"file_hashes":["x"]}`, false, []string{`"file_hashes":{"https://example.com/n.mcpb":"sha256:abab`}, 0},
		"in _meta":  {`{` + head + `,"packages":[` + bundle + `}]}`, true, []string{`"_meta":{"` + publisherMeta + `":{"file_hashes":{"https`}, 0},
		"of others": {`{` + head + `,"packages":[` + bundle + `}],"file_hashes":{"npm:a@1.0.0":"x","npm:a@1.0.1":1}}`, false, []string{`"file_hashes":{"https`}, 2},
	} {
		out, replaced, err := SetHashes([]byte(c.raw), []FileHash{hash}, c.meta)
		if err != nil || len(replaced) != c.was {
			t.Errorf("%s: %v, %v", name, replaced, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: %s", name, out)
			}
		}
		if c.meta && strings.Contains(string(out), `},"file_hashes"`) {
			t.Errorf("%s: also at the top: %s", name, out)
		}
		again, replaced, err := SetHashes(out, []FileHash{hash}, c.meta)
		if err != nil || string(again) != string(out) || len(replaced) > 0 {
			t.Errorf("%s, again: %v %v\n%s", name, replaced, err, again)
		}
	}
	url := "https://github.com/acme/notes/releases/download/v1.0.0/n.mcpb"
	asset := FileHash{Key: "github:acme/notes/v1.0.0/n.mcpb", Ref: parse(t, url), Value: hash.Value}
	both := `{` + head + `,"packages":[` + strings.Replace(bundle, "https://example.com/n.mcpb", url, 1) + `}],"file_hashes":{"` + url + `":"` + hash.Value +
		`"},"_meta":{"` + publisherMeta + `":{"file_hashes":{"github:acme/notes/v1.0.0/n.mcpb":"sha256:` + zeros + `"}}}}`
	_, replaced, err := SetHashes([]byte(both), []FileHash{asset}, false)
	if err != nil || len(replaced) != 1 || replaced[0].Was != "sha256:"+zeros || replaced[0].Now != hash.Value {
		t.Errorf("a wrong one in _meta under another spelling: %v, %v", replaced, err)
	}
	wheels := []FileHash{{Key: "pypi:nn==1.0/nn-1.0.tar.gz", Value: hash.Value}, {Key: "pypi:nn==1.0/nn-1.0-py3-none-any.whl", Value: hash.Value}}
	for i := range wheels {
		wheels[i].Ref = parse(t, wheels[i].Key)
	}
	several := `{` + head + `,"packages":[{"registryType":"pypi","identifier":"nn","version":"1.0","transport":{"type":"stdio"},"fileSha256":"` + zeros + `"}]}`
	if out, _, err := SetHashes([]byte(several), wheels, false); err == nil || !strings.Contains(err.Error(), "take the member out") {
		t.Errorf("one digest for several files: %s, %v", out, err)
	}
	for name, raw := range map[string]string{"array": "[]", "cut": `{"a":`, "not valid": `{` + head + `}`,
		"_meta": `{` + head + `,"packages":[` + bundle + `}],"_meta":[]}`} {
		if out, _, err := SetHashes([]byte(raw), []FileHash{hash}, true); err == nil {
			t.Errorf("%s: gave %s", name, out)
		}
	}
	if out, _, err := SetHashes([]byte(`{`+head+`,"packages":[`+bundle+`}]}`), nil, false); err != nil || strings.Contains(string(out), "file_hashes") {
		t.Errorf("%s, %v", out, err)
	}
}
