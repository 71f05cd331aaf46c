package forge

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
)

// Wheel is the wheel of a release, NAME-VERSION, that holds files, each as its path and its
// content. Of its metadata it adds what is not among them, and a RECORD of all of them.
func Wheel(release string, files ...string) []byte {
	name, version, _ := strings.Cut(release, "-")
	info := release + ".dist-info/"
	for path, text := range map[string]string{
		"METADATA": "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n",
		"WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
	} {
		if !hasPath(files, info+path) {
			files = append(files, info+path, text)
		}
	}
	if !hasPath(files, info+"RECORD") {
		files = append(files, info+"RECORD", WheelRecord(files...)+info+"RECORD,,\n")
	}
	return Pack(files...)
}

// Pack is the zip of files, each as its path and its content.
func Pack(files ...string) []byte {
	z := &Zip{}
	for i := 0; i < len(files); i += 2 {
		z.Entries = append(z.Entries, NewEntry(files[i], []byte(files[i+1]), !strings.HasSuffix(files[i], "/")))
	}
	return z.Bytes()
}

func hasPath(files []string, path string) bool {
	for i := 0; i < len(files); i += 2 {
		if files[i] == path {
			return true
		}
	}
	return false
}

// WheelRecord is a line of RECORD for each file.
func WheelRecord(files ...string) string {
	var b strings.Builder
	for i := 0; i < len(files); i += 2 {
		sum := sha256.Sum256([]byte(files[i+1]))
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", files[i], base64.RawURLEncoding.EncodeToString(sum[:]), len(files[i+1]))
	}
	return b.String()
}

// Parts of paths in wheels of hx_whl 1.0.0: at the top, below that in .data, and below both.
var (
	wheelTops = []string{"hx", "hx", "bin", "bin", "bin", "include", "lib", "share", "more", "x.data", "X.DATA",
		"HX_WHL-1.0.0.data", "hx-whl-1.0.0.data", "hx.whl-1.0.0.data", "hx_whl-1.0.data", "hx_whl-1.0.0.data ",
		"hx_whl-1.0.0.dist-info", "HX_WHL-1.0.0.dist-info", "hx_whl-1.0.dist-info", "other-1.dist-info"}
	wheelKinds = []string{"purelib", "platlib", "purelib", "platlib", "scripts", "scripts", "scripts", "data", "data",
		"headers", "Purelib", "data/data", "stuff", ""}
	wheelRests = []string{"hx/__init__.py", "hx/a.py", "hx/A.py", "hx", "a.py", "tool", "tool", "tool.exe",
		"tool-script.py", "bin/tool", "bin/a.py", "share/hx/a", "etc/hx/a", "lib/a.so", "lib/python/a.py", "li/a",
		"include/a.h", "include/python/hx-whl/a.h", "METADATA", "purelib/hx/a.py", "hx_whl-1.0.0.data/purelib/hx/a.py",
		"hx_whl-1.0.0.dist-info/METADATA", "hx_whl-1.0.0.dist-info/entry_points.txt", "new-1.dist-info/METADATA",
		"lib/python3.11/site-packages/a.py"}
	wheelScripts = []string{"tool", "tool", "Tool", "tool.exe", "../tool.py", "../hx/a.py", "a b"}
)

// ForgeWheel makes a wheel of hx_whl 1.0.0 that installers may install differently.
func ForgeWheel(r *rand.Rand) []byte {
	const release = "hx_whl-1.0.0"
	pick := func(all []string) string { return all[r.IntN(len(all))] }
	files := []string{"hx/__init__.py", "x = 1\n"}
	add := func(name string) {
		if name = strings.ReplaceAll(name, "//", "/"); !hasPath(files, name) {
			files = append(files, name, fmt.Sprintf("content = %d\n", len(files)))
		}
	}
	for range 1 + r.IntN(3) {
		rest := pick(wheelRests)
		if r.IntN(3) == 0 {
			add(pick(wheelTops) + "/" + rest)
			continue
		}
		kind := pick(wheelKinds)
		if kind == "scripts" && r.IntN(8) > 0 {
			rest = path.Base(rest)
		}
		add(release + ".data/" + kind + "/" + rest)
	}
	if r.IntN(3) == 0 && !hasPath(files, release+".dist-info/entry_points.txt") {
		files = append(files, release+".dist-info/entry_points.txt",
			"[console_scripts]\n"+pick(wheelScripts)+" = hx:x\n")
	}
	return Wheel(release, files...)
}
