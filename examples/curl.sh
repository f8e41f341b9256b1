#!/usr/bin/env bash
# Asks a Sluice server and prints the stream, then a part of the same stream again, then the answer as one JSON object.
#
#	examples/curl.sh "What happens to a slow reader?"
set -euo pipefail
url=${SLUICE_URL:-http://127.0.0.1:8000}
question=${1:-What happens to a slow reader?}
body=$(printf '%s' "$question" | sed 's/[\\"]/\\&/g')

headers=$(mktemp)
trap 'rm -f "$headers"' EXIT

echo "== the stream"
curl -sSN --fail-with-body -D "$headers" "$url/api/query/stream" \
	-H 'Content-Type: application/json' -d "{\"query\": \"$body\"}"

run=$(tr -d '\r' <"$headers" | sed -n 's/^[Ss]luice-[Rr]un-[Ii]d: //p')
echo "== the same run, after event 8"
curl -sSN --fail-with-body "$url/runs/$run/stream" -H 'Last-Event-ID: 8'

echo "== the answer as one object"
curl -sS --fail-with-body "$url/api/query" -H 'Content-Type: application/json' -d "{\"query\": \"$body\"}"
