package program

import (
	"os"
	"path/filepath"
	"testing"
)

// Every runtime of JavaScript looks for modules above the file that it starts; the refusal
// names the one that would.
func TestModulesAbove(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	slot := filepath.Join(top, "store", "slot")
	if err := os.MkdirAll(slot, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := NoModulesAbove("node", slot, filepath.Join(top, "home")); err != nil {
		t.Skip("this machine's temporary files lie below modules: ", err)
	}
	modules := filepath.Join(top, "node_modules")
	if err := NoModulesAbove("node", modules, ""); err != nil || os.MkdirAll(modules, 0o700) != nil {
		t.Fatal(err)
	}
	if err := NoModulesAbove("node", modules, ""); err != nil {
		t.Errorf("modules that are hashed themselves: %v", err)
	}
	for _, place := range []string{"store/node_modules", "node_modules", "home/.node_modules", "home/.node_libraries"} {
		dir := filepath.Join(top, filepath.FromSlash(place))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, runtime := range []string{"node", "bun", "deno"} {
			err := NoModulesAbove(runtime, slot, filepath.Join(top, "home"))
			if want := runtime + " would load modules from " + dir + ", which nobody verified"; err == nil ||
				err.Error() != want {
				t.Errorf("%s, %s: %v", runtime, place, err)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}
