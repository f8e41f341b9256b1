#!/usr/bin/env bash
# Compares what Sluice, PDFium and pdftotext read in PDF files: downloads the Debian packages with such files into the folder sluice/pdf of the
# user's cache folder, and needs pdftotext, Chromium and fonts for Chinese, Japanese and Korean (poppler-utils, chromium, fonts-noto-cjk).
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sluice/pdf
mkdir -p "$cache/packages"
(
	cd "$cache"
	for package in debian-policy installation-guide-amd64 developers-reference{,-de,-fr,-it,-ja,-ru} maint-guide{,-ca,-de,-es,-fr,-it,-ja,-ru,-zh-cn}; do
		ls "$package"_*.deb >/dev/null 2>&1 || apt-get download "$package"
		dpkg-deb -x "$package"_*.deb packages
	done
)
go build -o "$cache/sluice" ./cmd/sluice
(cd internal/tools/pdfcompare && go build -o "$cache/pdfcompare" .)
exec "$cache/pdfcompare" -packages "$cache/packages" -sluice "$cache/sluice" "$@"
