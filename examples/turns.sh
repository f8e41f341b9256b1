#!/usr/bin/env bash
# Asks a question in a new session of a Sluice server, and prints the three phases of the stream on lines of their own, then the reply without
# a stream to the same question.
#
#	examples/turns.sh "What happens to a slow reader?"
set -euo pipefail
url=${SLUICE_URL:-http://127.0.0.1:8000}/v1/rag/sessions
content=$(printf '%s' "${1:-What happens to a slow reader?}" | sed 's/[\\"]/\\&/g')

post() { curl -sSN --fail-with-body "$1" -H 'Content-Type: application/json' -d "$2"; }

session=$(post "$url" '{}' | sed 's/.*"session_id": *"\([^"]*\)".*/\1/')
post "$url/$session/messages/stream" "{\"content\": \"$content\"}" | tr '\035\036' '\n\n'
echo
post "$url/$session/messages" "{\"content\": \"$content\"}"
