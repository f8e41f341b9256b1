#!/usr/bin/env bash
# Installs what the tests run besides Go, from Debian's packages, and does nothing where all of it is there.
set -euo pipefail

missing() {
	command -v curl >/dev/null || echo curl
	command -v node >/dev/null || echo nodejs
	for python in python3 /usr/bin/python3; do
		"$python" -c 'import httpx' 2>/dev/null && return
	done
	echo python3-httpx
}

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
