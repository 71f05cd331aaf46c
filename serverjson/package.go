package serverjson

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// The types that package_location has beside the official ones. Identifier is a URL.
const (
	typeGitHub = "github"
	typeURL    = "url"
)

// Ref names what the package consists of: for PyPI the whole release, for MCPB the
// bundle. It is an error if the package has no exact version, since a Ref has one; and if
// it is at another registry than the usual one of its type: a Ref does not say at which
// registry, so that another package would be fetched and checked.
func (p Package) Ref() (artifact.Ref, error) {
	if _, ok := p.atOtherRegistry(); ok {
		return artifact.Ref{}, fmt.Errorf("%s packages at %+q cannot be checked yet", p.RegistryType,
			clip(p.RegistryBaseURL))
	}
	switch p.RegistryType {
	case model.RegistryTypeNPM:
		return artifact.NewNPM(p.Identifier, p.Version)
	case model.RegistryTypePyPI:
		return artifact.NewPyPI(p.Identifier, p.Version, "")
	case model.RegistryTypeNuGet:
		return artifact.NewNuGet(p.Identifier, p.Version)
	case model.RegistryTypeCargo:
		return artifact.NewCargo(p.Identifier, p.Version)
	case model.RegistryTypeOCI:
		return artifact.NewOCI(p.imageReference())
	case model.RegistryTypeMCPB, typeURL, typeGitHub:
		text := p.Identifier
		if p.RegistryType == typeGitHub && strings.Count(text, "/") > 1 && !strings.Contains(text, ":") {
			text = "github:" + text
		}
		ref, err := artifact.Parse(text)
		switch {
		case err != nil && p.RegistryType == model.RegistryTypeMCPB && !strings.Contains(text, "://"):
			return artifact.Ref{}, fmt.Errorf("%+q is no https URL: the identifier of an mcpb package is the URL of "+
				"its file", clip(text))
		case p.RegistryType == typeGitHub && strings.Count(text, "/") == 1:
			return artifact.Ref{}, fmt.Errorf("%+q names a repository, and no file of a release: write "+
				"owner/repo/tag/file, or its URL",
				clip(text))
		case err == nil && p.RegistryType == typeGitHub && ref.Kind() == artifact.GitHub:
			return ref, nil
		case err != nil:
			return artifact.Ref{}, err
		case ref.Kind() != artifact.HTTPS:
			return artifact.Ref{}, fmt.Errorf("%+q: is no https URL", clip(p.Identifier))
		case p.RegistryType == typeGitHub && ref.Normal().Kind() != artifact.GitHub:
			return artifact.Ref{}, fmt.Errorf("%+q: is no URL of a GitHub release asset", clip(p.Identifier))
		}
		return ref, nil
	}
	return artifact.Ref{}, fmt.Errorf("%+q: unknown type of registry", clip(p.RegistryType))
}

// registries are the usual ones of the types for which a Ref does not name the host.
var registries = map[string]string{
	model.RegistryTypeNPM:   model.RegistryURLNPM,
	model.RegistryTypePyPI:  model.RegistryURLPyPI,
	model.RegistryTypeNuGet: model.RegistryURLNuGet,
	model.RegistryTypeCargo: model.RegistryURLCrates,
}

// atOtherRegistry reports whether the package says that it is at another registry than usual.
func (p Package) atOtherRegistry() (usual string, ok bool) {
	usual, ok = registries[p.RegistryType]
	return usual, ok && p.RegistryBaseURL != "" && p.RegistryBaseURL != usual && !p.asked
}

// AtRegistries tells which registries packages are fetched from, besides the usual ones: isAsked reports whether those
// of a type and name are asked of the registry at base. A package that names such a registry then has a Ref.
func (d *Document) AtRegistries(isAsked func(kind artifact.Kind, name, base string) bool) {
	for i := range d.Packages {
		p := &d.Packages[i]
		if _, other := p.atOtherRegistry(); other {
			p.asked = isAsked(artifact.Kind(p.RegistryType), p.Identifier, p.RegistryBaseURL)
		}
	}
}

// imageReference is the whole image reference. Older schemas kept the host in registryBaseUrl and
// the tag in version; without a host the default registry of image references is meant.
func (p Package) imageReference() string {
	s := p.Identifier
	first, rest, ok := strings.Cut(s, "/")
	if !ok || !strings.ContainsAny(first, ".:") && first != "localhost" {
		host := name.DefaultRegistry
		if base, ok := strings.CutPrefix(p.RegistryBaseURL, "https://"); ok {
			host = strings.TrimSuffix(base, "/")
		}
		rest = s
		s = host + "/" + s
	}
	if p.Version != "" && !strings.ContainsAny(rest, ":@") {
		s += ":" + p.Version
	}
	return s
}

// Covers reports whether a package of the document gives ref.
func (d *Document) Covers(ref artifact.Ref) bool { return d.givenRefs()[ref.Release()] }

// Gives reports whether ref is what the package consists of: for PyPI any file of the
// release, else exactly that artifact.
func (p Package) Gives(ref artifact.Ref) bool {
	own, err := p.Ref()
	return err == nil && own.Release() == ref.Release()
}

// givenRefs is the set of the packages' Refs, each as [artifact.Ref.Release] has it.
func (d *Document) givenRefs() map[artifact.Ref]bool {
	all := make(map[artifact.Ref]bool, len(d.Packages))
	for _, p := range d.Packages {
		if ref, err := p.Ref(); err == nil {
			all[ref.Release()] = true
		}
	}
	return all
}

// checkOrigin checks where a package comes from, and the digest that it states.
func (v *validation) checkOrigin(d *Document, p Package) {
	id := p.Pointer + "/identifier"
	if p.Pointer == locationPointer {
		id = v.checkLocation(d, p)
	} else {
		v.checkVersion(p.Pointer+"/version", p.Version)
	}
	if p.RegistryType == "" || !v.checkRegistry(d, p) {
		return // reported
	}
	if p.Identifier == "" {
		if p.Pointer == locationPointer {
			v.fail(id, "required", "a package of type %s needs it", p.RegistryType)
		}
		return
	}
	v.warnOfExample(id, p.Identifier)
	if v.refusePlaceholder(id, p.Identifier) {
		return
	}
	if ref, err := p.Ref(); err != nil {
		v.failRef(p, id, err)
	} else {
		v.checkFileSHA256(p, ref)
	}
}

// checkLocation checks the older package_location and returns the pointer of the member that
// identifies the package.
func (v *validation) checkLocation(d *Document, p Package) (id string) {
	id = p.Pointer + "/package_name"
	if p.RegistryType == typeURL || p.RegistryType == typeGitHub &&
		(p.Identifier == "" || strings.Contains(p.Identifier, "://")) {
		id = p.Pointer + "/url"
	}
	if d.location != "" {
		v.warn(p.Pointer+"/url", "location-url-ignored",
			"a package of type %s is found by its name; the URL is ignored", p.RegistryType)
	}
	if slices.ContainsFunc(d.Packages, func(p Package) bool { return p.Pointer != locationPointer }) {
		v.fail(p.Pointer, "both-locations", "both packages and the older package_location: write packages alone")
	}
	return id
}

// checkRegistry checks the registry of a package, and reports whether a Ref can name what is
// there.
func (v *validation) checkRegistry(d *Document, p Package) bool {
	switch p.RegistryType {
	case model.RegistryTypeNPM, model.RegistryTypePyPI, model.RegistryTypeNuGet, model.RegistryTypeCargo:
	case model.RegistryTypeOCI, model.RegistryTypeMCPB:
		v.refuseMember(d, p.Pointer+"/registryBaseUrl", p.RegistryBaseURL, p.RegistryType)
		if p.RegistryType == model.RegistryTypeOCI {
			v.refuseMember(d, p.Pointer+"/version", p.Version, p.RegistryType)
		}
	default:
		if p.Pointer != locationPointer {
			v.fail(p.Pointer+"/registryType", "unsupported-registry-type",
				"%+q is not one of npm, pypi, oci, nuget, cargo, mcpb%s", clip(p.RegistryType),
				meantType(p.RegistryType))
			return false
		}
	}
	if p.RegistryBaseURL == "" {
		return true
	}
	at := p.Pointer + "/registryBaseUrl"
	v.checkHTTPSURL(at, "registry-base-url", p.RegistryBaseURL)
	usual, other := p.atOtherRegistry()
	if other && !v.hasError(at) {
		v.fail(at, "registry-base-url-unknown", "%+q is not %s%s", clip(p.RegistryBaseURL), usual,
			p.otherRegistryHint(usual))
	}
	return !other
}

// otherTypes are the types of registry that are meant by what older schemas, launchers and languages call them.
var otherTypes = map[string]string{
	"docker": model.RegistryTypeOCI, "docker-oci": model.RegistryTypeOCI, "container": model.RegistryTypeOCI,
	"ghcr": model.RegistryTypeOCI, "image": model.RegistryTypeOCI, "npx": model.RegistryTypeNPM,
	"node": model.RegistryTypeNPM, "nodejs": model.RegistryTypeNPM, "pip": model.RegistryTypePyPI,
	"pipx": model.RegistryTypePyPI, "uv": model.RegistryTypePyPI, "uvx": model.RegistryTypePyPI,
	"python": model.RegistryTypePyPI, "dotnet": model.RegistryTypeNuGet, "dnx": model.RegistryTypeNuGet,
	"crate": model.RegistryTypeCargo, "crates": model.RegistryTypeCargo,
	"rust": model.RegistryTypeCargo, "dxt": model.RegistryTypeMCPB, "github": model.RegistryTypeMCPB,
	"github_release": model.RegistryTypeMCPB, "github-release": model.RegistryTypeMCPB, "url": model.RegistryTypeMCPB,
}

// meantType asks whether another type was meant, "" if none is like it.
func meantType(written string) string {
	lower := strings.ToLower(written)
	meant := otherTypes[lower]
	if registries[lower] != "" || lower == model.RegistryTypeOCI || lower == model.RegistryTypeMCPB {
		meant = lower
	}
	if meant == "" {
		return ""
	}
	return "; did you mean " + meant + "?"
}

// otherRegistryHint says how a registry of packages is written that is not the usual one.
func (p Package) otherRegistryHint(usual string) string {
	if strings.TrimRight(p.RegistryBaseURL, "/") == usual {
		return ", which has no slash at its end"
	}
	return ", and packages of type " + p.RegistryType + " are not asked for there: leave the member out, or " +
		"configure that registry as the one for them"
}

// failRef reports that a package has no Ref: at its version if that is why, else at the member
// id that identifies it.
func (v *validation) failRef(p Package, id string, err error) {
	malformed, ok := errors.AsType[*artifact.ParseError](err)
	hasVersion := p.RegistryType != model.RegistryTypeOCI && p.RegistryType != model.RegistryTypeMCPB
	switch at := p.Pointer + "/version"; {
	case !ok || malformed.Part != artifact.PartVersion || !hasVersion:
		v.fail(id, "invalid-identifier", "%v", err)
	case p.Version == "":
		v.fail(at, "version-required", "a package of type %s needs an exact version", p.RegistryType)
	case !v.hasError(at):
		v.fail(at, "version-not-exact", "%v", err)
	}
}

// refuseMember reports a member that the current schema has no use for under a type; under
// older schemas it had one.
func (v *validation) refuseMember(d *Document, path, value, registryType string) {
	switch {
	case value == "":
	case schemaDate(d.Schema) != model.CurrentSchemaVersion:
		v.warn(path, "member-not-used", "packages of type %s carry this in identifier now", registryType)
	default:
		v.fail(path, "member-not-allowed", "packages of type %s carry this in identifier", registryType)
	}
}

// hasError reports whether an error was reported at path.
func (v *validation) hasError(path string) bool {
	return slices.ContainsFunc(v.issues, func(i Issue) bool { return i.Path == path && i.Severity == SeverityError })
}

// clip bounds text from outside that enters a message.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
