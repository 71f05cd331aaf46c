#!/bin/sh
# Installs what is in the directory of a release, each format in a root or a directory of its own, and uses it as
# a new user does: version, completions, manual page, then protect, status, a call through the client's entry, undo.
#
#	sh tools/release/try.sh bin/release
#
# What cannot be installed here, for lack of a program or of root, is said, and with CI=true an error. Nothing is
# downloaded but the base of Debian's root, by debootstrap from where apt takes its packages.
set -eu

say() { echo "try: $*"; }
fail() { echo "try: $*" >&2; exit 1; }

release=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
machine=$(uname -m)
case $machine in
x86_64) deb=amd64 node=x64 arch=amd64 ;;
aarch64) deb=arm64 node=arm64 arch=arm64 ;;
*) fail "no package for $machine" ;;
esac
# Hallmark refuses to keep its state in a checkout, and to be started from a place of temporary files.
work=$(mktemp -d "$HOME/hallmark-try.XXXXXX")
missing='' mounted=''
cleanup() {
	for dir in $mounted; do umount "$dir"; done
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# lacks says that something was not tried.
lacks() {
	say "NOT TRIED: $*"
	missing="$missing, $1"
}

# has reports whether all these programs are there.
has() { for c; do command -v "$c" >/dev/null 2>&1 || return 1; done; }

# one prints the only file that the pattern names.
one() {
	if [ $# != 1 ] || [ ! -f "$1" ]; then fail "not one file: $*"; fi
	echo "$1"
}

# use HOME RUN...: the session of a new user whose programs are started by RUN, which may be chroot, with HOME's path
# as RUN sees it in $inside.
use() {
	home=$1
	shift
	mkdir -p "$home/.cursor" "$home/files" "$home/server"
	cp "$work/archive/hashfile-mcp" "$home/server/files-server"
	printf '{\n  "mcpServers": {\n    // mine\n    "files": { "command": "%s", "args": ["--root", "%s"] }\n  }\n}\n' \
		"$inside/server/files-server" "$inside/files" >"$home/.cursor/mcp.json"
	cp "$home/.cursor/mcp.json" "$home/before.json"
	"$@" hallmark version | grep -q '^hallmark v' || fail "no version"
	"$@" hallmark completion bash | grep -q hallmark || fail "no completions"
	"$@" hallmark status | grep -q '^open  *files' || fail "status does not show the open server"
	"$@" hallmark protect --yes >/dev/null || fail "protect"
	"$@" hallmark status | grep -q '^protected  *files' || fail "status does not show the protected server"
	node "$here/call.mjs" "$home/.cursor/mcp.json" "$@" || fail "no call through the client's entry"
	"$@" hallmark undo >/dev/null || fail "undo"
	cmp "$home/before.json" "$home/.cursor/mcp.json" || fail "undo did not give the file back"
	"$@" mcp-publisher --version >/dev/null || fail "no mcp-publisher"
	"$@" hashfile-mcp --version >/dev/null || fail "no hashfile-mcp"
}

# in_root ROOT: use in a directory tree of its own.
in_root() {
	mkdir -p "$1/proc" "$1/dev" "$1/root" "$1/tmp"
	mount --bind /proc "$1/proc" # from which programs learn what they are
	mounted="$mounted $1/proc"
	[ -e "$1/dev/null" ] || mknod -m 666 "$1/dev/null" c 1 3
	inside=/root
	use "$1/root" env -i HOME=/root PATH=/usr/bin:/usr/sbin TMPDIR=/tmp chroot "$1"
	umount "$1/proc"
	mounted=${mounted% *}
}

say checksums
(cd "$release" && grep -v ' .*/' SHA256SUMS | sha256sum --quiet -c -)

say archive
mkdir -p "$work/archive/home" "$work/linux_$arch"
tar -xzf "$(one "$release"/hallmark_*_linux_$arch.tar.gz)" -C "$work/archive" --strip-components 1
cp "$work/archive/hallmark" "$work/archive/mcp-publisher" "$work/archive/hashfile-mcp" "$work/linux_$arch"
(cd "$work" && grep " linux_$arch/" "$release/SHA256SUMS" | sha256sum --quiet --ignore-missing -c -)
inside=$work/archive/home
use "$inside" env -i HOME="$inside" PATH="$work/archive:/usr/bin:/bin"

# The base system of this machine's distribution, from where apt takes it; an image of a runner may have other sites too.
site=
if has apt-get; then
	# shellcheck disable=SC2016 # apt expands it
	site=$(apt-get indextargets --format '$(SITE)' 'ORIGIN: Debian' | grep '^http' | sort -u | head -n 1)
fi
if [ "$(id -u)" = 0 ] && [ -n "$site" ] && has debootstrap chroot; then
	say deb
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	debootstrap --variant=minbase "$codename" "$work/deb" "$site" >"$work/debootstrap.log" 2>&1 ||
		{ tail "$work/debootstrap.log"; fail debootstrap; }
	cp "$release"/*_"$deb".deb "$work/deb/root"
	chroot "$work/deb" sh -c 'dpkg -i /root/*.deb >/dev/null && rm /root/*.deb'
	[ -s "$work/deb/usr/share/man/man1/hallmark-protect.1" ] || fail "no manual page"
	in_root "$work/deb"
	chroot "$work/deb" dpkg -V hallmark hallmark-registry || fail "files of the package differ"
elif [ "$(id -u)" = 0 ] && has dpkg chroot; then
	say "deb, without a base system"
	mkdir -p "$work/deb/var/lib/dpkg/info" "$work/deb/var/lib/dpkg/updates"
	: >"$work/deb/var/lib/dpkg/status"
	dpkg --root "$work/deb" --install "$release"/*_"$deb".deb >/dev/null
	in_root "$work/deb"
else
	lacks "deb, without root or dpkg"
fi

if [ "$(id -u)" = 0 ] && has rpm chroot; then
	say rpm
	mkdir -p "$work/rpm"
	rpm --root "$work/rpm" --initdb
	rpm --root "$work/rpm" --install --nodeps "$release"/*."$machine".rpm
	rpm --root "$work/rpm" --verify hallmark || fail "files of the package differ"
	in_root "$work/rpm"
else
	lacks "rpm, without root or rpm"
fi

if [ "$(id -u)" = 0 ] && has pacman chroot; then
	say "package of Arch"
	mkdir -p "$work/arch/var/lib/pacman"
	printf '[options]\nArchitecture = %s\nSigLevel = Never\n' "$machine" >"$work/pacman.conf"
	pacman --config "$work/pacman.conf" --root "$work/arch" --noconfirm -U "$release"/*-"$machine".pkg.tar.zst >/dev/null
	in_root "$work/arch"
else
	lacks "the package of Arch, without root or pacman"
fi

if [ "$(id -u)" = 0 ] && has chroot; then
	say "package of Alpine, unpacked"
	mkdir -p "$work/apk"
	tar -xzf "$(one "$release"/hallmark_*_"$machine".apk)" -C "$work/apk" 2>/dev/null
	in_root "$work/apk"
fi

if has npm; then
	say npm
	mkdir -p "$work/npm/home"
	inside=$work/npm/home
	main=$(one "$release"/npm-hallmark-mcp-hallmark-[0-9]*.tgz)
	carrier=$(one "$release"/npm-hallmark-mcp-hallmark-linux-$node-*.tgz)
	HOME=$inside npm install --silent --offline --ignore-scripts --omit=optional --prefix "$work/npm" "$carrier" "$main"
	use "$inside" env -i HOME="$inside" PATH="$work/npm/node_modules/.bin:$PATH"
	HOME=$inside npm_config_omit=optional npx --offline --yes --package "$carrier" --package "$main" hallmark version \
		>/dev/null || fail "npx"
else
	lacks "npm"
fi

wheel=$(one "$release"/hallmark_mcp-*manylinux*_"$machine".*.whl)
if has python3 && python3 -m venv --help >/dev/null 2>&1; then
	say wheel
	python3 -m venv "$work/python"
	"$work/python/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
	mkdir -p "$work/python/home"
	inside=$work/python/home
	use "$inside" env -i HOME="$inside" PATH="$work/python/bin:/usr/bin:/bin"
	"$work/python/bin/hallmark-mcp" version >/dev/null || fail "hallmark-mcp"
	"$work/python/bin/pip" check >/dev/null
else
	lacks "the wheel, without venv"
fi
if has uv; then
	say uvx
	HOME=$work/python/home uvx --offline --no-index --from "$wheel" hallmark-mcp version >/dev/null || fail "uvx"
else
	lacks "uvx"
fi

say "manifests"
node -e 'JSON.parse(require("fs").readFileSync(process.argv[1]))' "$release/hallmark.json"
if has ruby; then ruby -c "$release/hallmark.rb" >/dev/null; else lacks "the formula's syntax, without ruby"; fi
if has nix-instantiate; then
	nix-instantiate --parse "$release/hallmark.nix" >/dev/null
else
	lacks "the derivation's syntax, without nix"
fi

if [ -n "$missing" ]; then
	say "all that could be tried works; not tried: ${missing#, }"
	[ -z "${CI-}" ] || exit 1
else
	say "all works"
fi
