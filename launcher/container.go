package launcher

import (
	"cmp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// containerOptions are the options of "run" of the container engines. The engines agree on the
// arity of those that they share, so that one table serves all; an option that takes
// no value in one engine and one in another would have to be left out.
var containerOptions = grammar{
	flags: []string{"-d", "--detach", "-i", "--interactive", "-t", "--tty", "-P", "--publish-all", "-q", "--quiet",
		"--rm", "--init", "--privileged", "--read-only", "--no-healthcheck", "--oom-kill-disable", "--sig-proxy",
		"--disable-content-trust", "--use-api-socket",
		// podman
		"--replace", "--rmi", "--no-hosts", "--no-hostname", "--http-proxy", "--env-host", "--read-only-tmpfs",
		"--tls-verify", "--rootfs", "--unsetenv-all"},
	values: []string{"-a", "--attach", "-c", "--cpu-shares", "-e", "--env", "-h", "--hostname", "-l", "--label", "-m",
		"--memory", "-p", "--publish", "-u", "--user", "-v", "--volume", "-w", "--workdir", "--add-host",
		"--annotation", "--blkio-weight", "--blkio-weight-device", "--cap-add", "--cap-drop", "--cgroup-parent",
		"--cgroupns", "--cidfile", "--cpu-count", "--cpu-percent", "--cpu-period", "--cpu-quota",
		"--cpu-rt-period", "--cpu-rt-runtime", "--cpus", "--cpuset-cpus", "--cpuset-mems", "--detach-keys",
		"--device", "--device-cgroup-rule", "--device-read-bps", "--device-read-iops", "--device-write-bps",
		"--device-write-iops", "--dns", "--dns-opt", "--dns-option", "--dns-search", "--domainname",
		"--entrypoint", "--env-file", "--expose", "--gpus", "--group-add", "--health-cmd", "--health-interval",
		"--health-retries", "--health-start-interval", "--health-start-period", "--health-timeout", "--ip",
		"--ip6", "--ipc", "--isolation", "--kernel-memory", "--label-file", "--link", "--link-local-ip",
		"--log-driver", "--log-opt", "--mac-address", "--memory-reservation", "--memory-swap",
		"--memory-swappiness", "--mount", "--name", "--net", "--net-alias", "--network", "--network-alias",
		"--oom-score-adj", "--pid", "--pids-limit", "--platform", "--pull", "--restart", "--runtime",
		"--security-opt", "--shm-size", "--stop-signal", "--stop-timeout", "--storage-opt", "--sysctl",
		"--tmpfs", "--ulimit", "--userns", "--uts", "--volume-driver", "--volumes-from",
		// podman and nerdctl
		"--arch", "--os", "--variant", "--authfile", "--creds", "--cert-dir", "--conmon-pidfile",
		"--decryption-key", "--gidmap", "--uidmap", "--hooks-dir", "--image-volume", "--passwd-entry",
		"--personality", "--pidfile", "--pod", "--pod-id-file", "--preserve-fds", "--requires", "--retry",
		"--retry-delay", "--rdt-class", "--sdnotify", "--secret", "--shm-size-systemd", "--subgidname",
		"--subuidname", "--systemd", "--timeout", "--tz", "--umask", "--unsetenv", "--umount", "--env-merge",
		"--chrootdirs", "--group-entry", "--hostuser", "--health-on-failure", "--snapshotter", "--verify"},
}

// engineOptions stand before "run".
var engineOptions = grammar{
	flags: []string{"-D", "--debug", "--tls", "--tlsverify"},
	values: []string{"-c", "--context", "--config", "-l", "--log-level", "-H", "--host", "--tlscacert", "--tlscert",
		"--tlskey", "-n", "--namespace", "-a", "--address"},
}

// readContainer reads what follows docker, podman or nerdctl.
func readContainer(engine string, words []word) Target {
	_, rest, unknown := engineOptions.readOptions(words)
	if len(rest) > 1 && rest[0].text == "container" {
		rest = rest[1:]
	}
	if unknown != "" || len(rest) == 0 || rest[0].text != "run" {
		return opaqueTarget(engine, engine+" is told something else than to run an image", words)
	}
	launcher := engine + " run"
	options, rest, unknown := containerOptions.readOptions(rest[1:])
	t := Target{Launcher: launcher, Fetches: true}
	switch {
	case unknown != "":
		return t.unread(unknownOption(launcher, unknown))
	case isGiven(options, "--rootfs"):
		return opaqueTarget(launcher, launcher+" --rootfs runs a directory", nil)
	case len(rest) == 0:
		return opaqueTarget(launcher, launcher+" without an image", nil)
	}
	for _, w := range valuesOf(options, "--entrypoint") {
		t.Bin = w.text
	}
	p := imagePackage(rest[0])
	if p.Ecosystem == "" {
		return t.unread("not an image: " + quote(p.Text))
	}
	t.Packages, t.Args = []Package{p}, texts(rest[1:])
	return t
}

var digestRE = spelling.Form(`^sha256:[0-9a-f]{64}$`)

// imagePackage reads "[host/]repository[:tag][@sha256:…]".
func imagePackage(w word) Package {
	p := Package{Text: w.text, at: w.at}
	named, sum, hasDigest := strings.Cut(strings.TrimPrefix(w.text, "docker://"), "@") // so podman writes it
	repo, tag := named, ""
	if i := strings.LastIndexByte(named, ':'); i > strings.LastIndexByte(named, '/') {
		repo, tag = named[:i], named[i+1:]
	}
	parsed, err := name.NewRepository(repo)
	if err != nil || strings.HasPrefix(repo, "-") || hasDigest && !digestRE().MatchString(sum) {
		return p
	}
	p.Ecosystem, p.Name, p.Spec = OCI, repo, tag
	p.before = strings.TrimSuffix(p.Text, "@"+sum) + "@"
	full := parsed.RegistryStr() + "/" + parsed.RepositoryStr()
	switch {
	case hasDigest:
		p.Pin, p.Spec = Digest, sum
		full += "@" + sum
	case tag != "":
		p.Pin = Tag
		full += ":" + tag
	default:
		p.Pin = Unpinned // the engine takes the tag latest
	}
	p.Ref, _ = artifact.NewOCI(full)
	return p
}

// Repository is the repository of an image as a Ref names it, with the registry's host; ""
// for what is no image.
func (p Package) Repository() string {
	repo, err := name.NewRepository(p.Name)
	if p.Ecosystem != OCI || err != nil {
		return ""
	}
	return repo.RegistryStr() + "/" + repo.RepositoryStr()
}

// Tag is the tag by which an image is named; without one engines take "latest".
func (p Package) Tag() string { return cmp.Or(p.Spec, "latest") }

// SpellAtDigest is the command line with the image named by its digest alone: podman takes no
// tag beside it.
func (t Target) SpellAtDigest(sha256 string) ([]string, bool) {
	if len(t.Packages) != 1 || t.Packages[0].Ecosystem != OCI || t.Opaque != "" {
		return nil, false
	}
	p := t.Packages[0]
	p.before = p.Name + "@"
	t.Packages = []Package{p}
	return t.Spell(sha256)
}
