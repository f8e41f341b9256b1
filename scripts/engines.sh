#!/usr/bin/env bash
# Builds Weaviate, which the tests of index/weaviate run, into the folder sluice/engines of the user's cache folder.
set -euo pipefail
cd "$(dirname "$0")/../deploy/engines"

case "$(go env GOHOSTOS)" in
darwin) cache=$HOME/Library/Caches ;;
*) cache=${XDG_CACHE_HOME:-$HOME/.cache} ;;
esac
version=$(go list -m -f '{{.Version}}' github.com/weaviate/weaviate)
target=$cache/sluice/engines/weaviate-${version#v}/weaviate-server
if [ -x "$target" ]; then
	echo "$target is built already"
	exit
fi
echo "building Weaviate $version, once: this takes 3 to 15 minutes"
mkdir -p "$(dirname "$target")"
nice go build -trimpath -ldflags '-s -w' -o "$target.new" github.com/weaviate/weaviate/cmd/weaviate-server
mv "$target.new" "$target"
echo "$target"
