#!/usr/bin/env bash
# Installs the programs that the tests run besides Go, from Debian packages and npm, if they are missing.
set -euo pipefail

# The headless shell of Chromium takes half the time of Chromium, which opens a window for each page of a test.
browser() {
	command -v chromium-headless-shell >/dev/null && return
	if [ "$(id -u)" = 0 ] && grep -qx ID=debian /etc/os-release; then # Ubuntu has no such package
		echo chromium-headless-shell
	else
		command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || echo chromium
	fi
}

missing() {
	command -v curl >/dev/null || echo curl
	command -v node >/dev/null || echo nodejs
	command -v tmux >/dev/null || echo tmux
	browser
	# For tests, which start a server of their own. Debian does not put its programs into the path.
	command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || echo postgresql
	command -v tesseract >/dev/null || echo tesseract-ocr
	command -v pdftoppm >/dev/null || echo poppler-utils
	for python in python3 /usr/bin/python3; do
		"$python" -c 'import httpx' 2>/dev/null && return
	done
	echo python3-httpx
}

# Runs npm ci in a folder whose lock file is newer than its packages. If that fails, the tests that need the packages are skipped.
installed() {
	if command -v npm >/dev/null && [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] &&
		! [ "$1/node_modules/.package-lock.json" -nt "$1/package-lock.json" ]; then
		echo "installing $2"
		(cd "$1" && npm ci --no-progress --loglevel=error) || echo "$2 could not be installed: the tests that run it are skipped" >&2
	fi
}

# llama.cpp for the tests of model/openai, only for this platform: 83 MB, about ten seconds.
[ "$(uname -sm)" != "Linux x86_64" ] || installed model/modeltest/llama llama.cpp
# The compiler of the TypeScript client and the generator of its types: 47 MB, a few seconds.
installed clients/typescript TypeScript
# The official clients of other protocols: 270 MB, about ten seconds.
installed clients/official "the official clients of other protocols"
# What builds the page, and what drives Chromium in its tests: 230 MB, about ten seconds.
installed web "the packages of the page"

packages=$(missing)
[ -n "$packages" ] || exit 0
# shellcheck disable=SC2086 # one word per package
set -- $packages
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	{
		echo "The tests need these Debian packages: $*"
		echo "Install them and run make test again. As root on Debian, make test installs them."
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
	echo "not found after installation: $packages" >&2
	exit 1
fi
