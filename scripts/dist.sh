#!/usr/bin/env bash
# Builds the release archives of every platform and their checksums: scripts/dist.sh VERSION. They are written to dist/.
set -euo pipefail

version=$1
export CGO_ENABLED=0 GOFLAGS=

rm -rf dist
mkdir -p dist/build
for platform in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64; do
	name=sluice_${version#v}_${platform/\//_}
	program=sluice format=tar.gz
	if [[ $platform == windows/* ]]; then
		program=sluice.exe format=zip
	fi
	GOOS=${platform%/*} GOARCH=${platform#*/} go build -trimpath \
		-ldflags "-s -w -X github.com/sluice-rag/sluice/internal/cli.releaseVersion=$version" -o "dist/build/$program" ./cmd/sluice
	git archive --prefix="$name/" --add-file="dist/build/$program" --output="dist/$name.$format" HEAD LICENSE README.md
	echo "dist/$name.$format: $(($(wc -c <"dist/build/$program") / 1000000)) MB unpacked"
done
rm -r dist/build
cd dist
sha256sum -- * >SHA256SUMS
