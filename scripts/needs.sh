#!/usr/bin/env bash
# Installs what the tests run besides Go, from Debian's packages and npm, and does nothing where all of it is there.
set -euo pipefail

missing() {
	command -v curl >/dev/null || echo curl
	command -v node >/dev/null || echo nodejs
	for python in python3 /usr/bin/python3; do
		"$python" -c 'import httpx' 2>/dev/null && return
	done
	echo python3-httpx
}

# llama.cpp for the tests of model/openai: 83 MB, some ten seconds, for this one system. Without it they are skipped.
engine=model/modeltest/llama
if [ "$(uname -sm)" = "Linux x86_64" ] && command -v npm >/dev/null && [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] &&
	! [ "$engine/node_modules/.package-lock.json" -nt "$engine/package-lock.json" ]; then
	echo "installing llama.cpp"
	(cd "$engine" && npm ci --no-progress --loglevel=error) || echo "llama.cpp could not be installed: the tests that run it are skipped" >&2
fi

packages=$(missing)
[ -n "$packages" ] || exit 0
# shellcheck disable=SC2086 # one word a package
set -- $packages
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	{
		echo "The tests need these programs, by their names in Debian: $*"
		echo "Install them and run make test again; as root on Debian it installs them by itself."
	} >&2
	exit 1
fi
echo "installing $*"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && apt-get install -y --no-install-recommends "$@"; } >"$log" 2>&1; then
	cat "$log" >&2
	exit 1
fi
packages=$(missing)
if [ -n "$packages" ]; then
	echo "installed, and still not found: $packages" >&2
	exit 1
fi
