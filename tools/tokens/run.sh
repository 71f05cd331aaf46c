#!/bin/sh
# Prints what our editing server and its peers cost a model in tokens (P15), and fails if a target of ours is missed.
#
#	sh tools/tokens/run.sh            hashfile-mcp is installed by cargo if that can, else left out
#	PEER=/path/of/hashfile-mcp sh tools/tokens/run.sh
#
# Tokenizer, servers and samples go to a temporary directory, which is removed.
set -eu
tokenizer=gpt-tokenizer@4.0.0
reference=@modelcontextprotocol/server-filesystem@2026.8.31
peer_version=0.3.4

tools=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$tools/../.."
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$dir/ours" ./cmd/hashfile-mcp
cd "$dir"
npm install --ignore-scripts --no-audit --no-fund --silent --prefix "$dir" "$tokenizer" "$reference"
peer=${PEER:-}
if [ -z "$peer" ] && command -v cargo >/dev/null; then
	if cargo install --quiet hashfile-mcp --version "$peer_version" --locked --root "$dir/peer" 2>"$dir/cargo.log"; then
		peer=$dir/peer/bin/hashfile-mcp
	else
		echo "tokens: hashfile-mcp $peer_version: $(tail -n 1 "$dir/cargo.log")" >&2
	fi
fi
node "$tools/tokens.mjs" "$dir/work" "$dir/ours" \
	"$dir/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js" ${peer:+"$peer"}
