#!/bin/sh
# Installs what make test needs besides Go, git and Node, with the machine's own
# package manager, and says what. What is there is left alone.
#
#	sh e2e/prerequisites.sh         what make test needs
#	sh e2e/prerequisites.sh race    a C compiler, which the race detector needs
#
#	python3     independent checkers of spec/ and hostile peers of the guard
#	uv          resolves packages of PyPI; installed with pip
#	node        the same, should it be missing
#	postgresql  its programs: tests start clusters of their own
#	registry    docker-registry, for images: tests start their own
#	openssl     signs what tests verify, and the other way round; minisign too
#	unzip       and bsdtar: other programs that unpack what tests forge
#	versitygw   an S3 server, built into bin/ with go install
#	spdx-tools  checks bills of materials, and so does a schema of CycloneDX, a Go module
#	bun, deno   with CI=true only (200 MB, for three tests): packages of npm, in bin/runtimes
#
# With CI=true whatever cannot be installed is an error; elsewhere the tests
# that need it are skipped, and named at the end.
set -eu

say() { echo "prerequisites: $*" >&2; }

# race_works compiles and links a test with the race detector; once it has, the
# build cache answers.
race_works() { CGO_ENABLED=1 go test -race -run '^$' errors >/dev/null 2>&1; }

# as_root runs a command as root without ever asking for a password.
as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# install PURPOSE APT DNF APK PACMAN BREW: one list of packages for each manager.
install() {
	purpose=$1 manager= packages=
	for candidate in apt-get dnf apk pacman brew; do
		shift
		if [ -z "$manager" ] && [ -n "${1-}" ] && command -v "$candidate" >/dev/null 2>&1; then
			manager=$candidate packages=$1
		fi
	done
	if [ -z "$manager" ]; then
		say "$purpose: no package manager known here"
		return 1
	fi
	say "installing $packages with $manager: $purpose"
	# shellcheck disable=SC2086 # a list of packages
	case $manager in
	apt-get)
		as_root apt-get update -q &&
			as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $packages
		;;
	dnf) as_root dnf install -q -y $packages ;;
	apk) as_root apk add --quiet $packages ;;
	pacman) as_root pacman -S --noconfirm --needed $packages ;;
	brew) brew install --quiet $packages ;;
	esac </dev/null >&2
}

# lacking WHAT CONSEQUENCE says what was not to be had, and ends the run where
# nothing may be skipped.
lacking() {
	if [ "${CI-}" = true ]; then
		say "$1, which CI=true does not allow"
		exit 1
	fi
	say "$1: $2"
}

if [ "${1-}" = race ]; then
	race_works || install "a C compiler for go test -race" "gcc libc6-dev" "gcc glibc-devel" "gcc musl-dev" gcc "" || true
	race_works || { say "the race detector does not work here"; exit 1; }
	exit 0
fi

if ! command -v python3 >/dev/null 2>&1; then
	install "checkers of spec/, peers of the guard" python3 python3 python3 python python ||
		lacking "python3 is not installed" "tests that need it are skipped"
fi
if ! command -v uv >/dev/null 2>&1; then
	say "installing uv with pip: it resolves packages of PyPI"
	python3 -m pip install -q uv >&2 || python3 -m pip install -q --break-system-packages uv >&2 ||
		lacking "uv is not installed" "tests that need it are skipped"
fi
if ! command -v node >/dev/null 2>&1; then
	install "checkers of spec/, peers of the guard" nodejs nodejs nodejs nodejs node ||
		lacking "node is not installed" "tests that need it are skipped"
fi
if ! command -v initdb >/dev/null 2>&1 && ! ls /usr/lib/postgresql/*/bin/initdb /usr/pgsql-*/bin/initdb >/dev/null 2>&1; then
	install "a database for tests of the registry" postgresql postgresql-server "postgresql postgresql-contrib" postgresql postgresql ||
		lacking "postgresql is not installed" "tests that need it are skipped"
fi
if ! command -v docker-registry >/dev/null 2>&1; then
	install "an image registry for tests of fetching" docker-registry "" docker-registry "" "" ||
		lacking "docker-registry is not installed" "tests that need it are skipped"
fi
if ! command -v openssl >/dev/null 2>&1 || ! command -v minisign >/dev/null 2>&1; then
	install "signatures of other programs" "openssl minisign" "openssl minisign" "openssl minisign" "openssl minisign" "openssl minisign" ||
		lacking "openssl or minisign is not installed" "tests that need them are skipped"
fi
if ! command -v unzip >/dev/null 2>&1 || ! command -v bsdtar >/dev/null 2>&1; then
	install "other programs that unpack archives" "unzip libarchive-tools" "unzip bsdtar" "unzip libarchive-tools" "unzip libarchive" libarchive ||
		lacking "unzip or bsdtar is not installed" "tests that need them are skipped"
fi
# Debian's nodejs comes without npm. Without their install scripts both packages are
# nothing but the program for this machine.
if [ "${CI-}" = true ] && { [ ! -d bin/runtimes/node_modules/bun ] || [ ! -d bin/runtimes/node_modules/deno ]; }; then
	command -v npm >/dev/null 2>&1 || install "packages of npm for tests" npm npm npm npm node || true
	say "installing bun and deno with npm into bin/runtimes (200 MB)"
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix bin/runtimes bun@1.4.5 deno@2.9.6 >&2 ||
		lacking "bun and deno are not installed" "tests that need them are skipped"
fi
if command -v python3 >/dev/null 2>&1 && ! python3 -c 'import spdx_tools' 2>/dev/null; then
	say "installing spdx-tools with pip: it checks bills of materials"
	python3 -m pip install -q spdx-tools >&2 || python3 -m pip install -q --break-system-packages spdx-tools >&2 ||
		lacking "spdx-tools is not installed" "tests that need it are skipped"
fi
GOFLAGS='' go mod download github.com/CycloneDX/cyclonedx-go@v0.12.0 ||
	lacking "the schema of CycloneDX cannot be downloaded" "tests that need it are skipped"
if [ ! -x bin/versitygw ]; then
	say "building versitygw: an S3 server for tests of the registry (a minute)"
	GOBIN="$PWD/bin" GOFLAGS=-trimpath CGO_ENABLED=0 go install github.com/versity/versitygw/cmd/versitygw@v1.8.0 >&2 ||
		lacking "versitygw cannot be built" "tests that need an S3 server are skipped"
fi
