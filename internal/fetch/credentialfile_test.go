package fetch

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestReadCredentials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "credentials.toml")
	env := func(name string) string { return map[string]string{"TOKEN": "hidden-e", "BAD": "hidden\n"}[name] }
	read := func(text string, mode os.FileMode) ([]HostCredential, error) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return ReadCredentials(path, env)
	}
	entry := func(host, rest string) string { return "[[credential]]\nhost = \"" + host + "\"\n" + rest + "\n" }
	const good = `namespaces = ["com.example"]` + "\n"

	got, err := read(entry("npm.example.com", good+`token = "hidden-t"`)+
		entry("npm.example.com:8443",
			`namespaces = ["com.example", "org.x"]`+"\nusername = \"u\"\npassword = \"hidden-p\"")+
		entry("images.example.com", good+`token_env = "TOKEN"`), 0o600)
	want := []HostCredential{
		{Host: "npm.example.com", Token: "hidden-t", Namespaces: []string{"com.example"}},
		{Host: "npm.example.com:8443", Username: "u", Password: "hidden-p",
			Namespaces: []string{"com.example", "org.x"}},
		{Host: "images.example.com", Token: "hidden-e", Namespaces: []string{"com.example"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}

	// Secrets are for the owner, and for the group at most; without one all may read.
	for mode, ok := range map[os.FileMode]bool{0o400: true, 0o600: true, 0o640: true, 0o644: false,
		0o660: false, 0o604: false} {
		for text, secret := range map[string]bool{`token = "hidden"`: true,
			"username = \"u\"\npassword = \"hidden\"": true, `token_env = "TOKEN"`: false} {
			_, err := read(entry("npm.example.com", good+text), mode)
			if runtime.GOOS != "windows" && (err == nil) != (ok || !secret) {
				t.Errorf("mode %o, %s: %v", mode, text, err)
			}
			if err != nil && strings.Contains(err.Error(), "hidden") {
				t.Errorf("shown: %v", err)
			}
		}
	}

	for text, part := range map[string]string{
		"":               "no [[credential]]",
		"credential = 1": "",
		"other = 1":      "",
		entry("npm.example.com", good+"token = \"hidden\"\nextra = 1"):                   "",
		entry("", good+`token = "hidden"`):                                               "neither host nor host:port",
		entry("https://npm.example.com", good+`token = "hidden"`):                        "neither host nor host:port",
		entry("npm.example.com/path", good+`token = "hidden"`):                           "neither host nor host:port",
		entry("u@npm.example.com", good+`token = "hidden"`):                              "neither host nor host:port",
		entry("npm.example.com", `token = "hidden"`):                                     "has no namespaces",
		entry("npm.example.com", "namespaces = []\ntoken = \"hidden\""):                  "has no namespaces",
		entry("npm.example.com", "namespaces = [\"\"]\ntoken = \"hidden\""):              "is no namespace",
		entry("npm.example.com", "namespaces = [\"com.example/*\"]\ntoken = \"hidden\""): "is no namespace",
		entry("npm.example.com", "namespaces = [\"*\"]\ntoken = \"hidden\""):             "is no namespace",
		entry("npm.example.com", good):                                                   "needs either",
		entry("npm.example.com", good+`username = "u"`):                                  "needs either",
		entry("npm.example.com", good+`password = "hidden"`):                             "needs either",
		entry("npm.example.com", good+"username = \"u\"\n"+
			"password = \"hidden\"\ntoken = \"hidden\""): "needs either",
		entry("npm.example.com", good+"token = \"hidden\"\ntoken_env = \"TOKEN\""): "given twice",
		entry("npm.example.com", good+`token_env = "ABSENT"`):                      "is not set",
		entry("npm.example.com", good+`token_env = "BAD"`):                         "characters that cannot be sent",
		entry("a.example.com", good+`token = "hidden"`) +
			entry("A.example.com:443", good+`token = "hidden"`): "has one already",
		"#" + strings.Repeat("x", maxCredentials): "larger than",
	} {
		if got, err := read(text, 0o600); err == nil || !strings.Contains(err.Error(), part) ||
			strings.Contains(err.Error(), "hidden") {
			t.Errorf("%.80q: %+v, %v", text, got, err)
		}
	}
	if _, err := ReadCredentials(filepath.Join(t.TempDir(), "absent"), env); err == nil {
		t.Error("a file that is not there was read")
	}
}
