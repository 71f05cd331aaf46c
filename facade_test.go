package hallmark_test

import (
	"os"
	"testing"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/publish"
)

// TestLibraryAgreesToNothing holds that the zero value of options starts and locks nothing, and
// that consent to start a server is none to lock it.
func TestLibraryAgreesToNothing(t *testing.T) {
	world := newExampleWorld()
	defer world.Close()
	project := world.calculator()
	confirmed := 0
	for name, o := range map[string]hallmark.PinOptions{
		"zero": {},
		"confirm alone": {Confirm: func(*hallmark.Pinned) (bool, error) {
			confirmed++
			return true, nil
		}},
		"start alone": {
			Start: func(p *hallmark.Pinned) (bool, error) { return p.Surface == nil && p.Consent.IsZero(), nil }},
	} {
		o.Machine = world.machine
		_, err := hallmark.Pin(t.Context(), project, nil, o)
		if evidence.ClassOf(err) != evidence.Refused {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(world.path("project/hallmark.lock")); err == nil {
			t.Errorf("%s: something was locked", name)
		}
	}
	if confirmed != 0 {
		t.Error("somebody was asked about a server that nobody may start")
	}
	if code, err := hallmark.Run(t.Context(), project, "calculator",
		hallmark.RunOptions{Machine: world.machine}); evidence.ClassOf(err) != evidence.Refused {
		t.Errorf("run: %d, %v", code, err)
	}
}

// TestLibraryPublishesArchive publishes a facet, and demands that a registry is named.
func TestLibraryPublishesArchive(t *testing.T) {
	world := newExampleWorld()
	defer world.Close()
	world.serveRegistry()
	world.write("kit/facet.json",
		`{"name": "kit", "version": "1.0.0", "commands": {"wave": {"description": "Waves."}}}`)
	world.write("kit/commands/wave.md", "Wave.\n")
	packed, err := publish.Pack(t.Context(), publish.PackOptions{Dir: world.path("kit"), File: world.path("kit.facet")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hallmark.Publish(t.Context(), world.path("kit.facet"),
		hallmark.PublishOptions{Machine: world.machine}); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("without a registry: %v", err)
	}
	published, err := hallmark.Publish(t.Context(), world.path("kit.facet"), hallmark.PublishOptions{
		Machine: world.machine, Registry: world.registry, LogKey: world.logKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	if published.Subject != "kit@1.0.0" || published.Entry == nil ||
		published.ContentIntegrity.String() != packed.Integrity.String() {
		t.Errorf("%+v", published)
	}
}
