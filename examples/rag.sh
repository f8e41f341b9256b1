#!/usr/bin/env bash
# Asks a Sluice server in the ragevents protocol, prints its stream, then the answer as one JSON object.
#
#	examples/rag.sh "What happens to a slow reader?"
set -euo pipefail
url=${SLUICE_URL:-http://127.0.0.1:8000}/functions/v1/rag
body=$(printf '%s' "${1:-What happens to a slow reader?}" | sed 's/[\\"]/\\&/g')

curl -sSN --fail-with-body "$url" -H 'Content-Type: application/json' -d "{\"question\": \"$body\", \"method\": \"HybridSearch\"}"
curl -sS --fail-with-body "$url" -H 'Content-Type: application/json' -d "{\"question\": \"$body\", \"method\": \"HybridSearch\", \"stream\": false}"
