#!/usr/bin/env bash
# Uploads a file, waits until it is indexed, adds it to a vector store, asks a question about it and deletes everything again.
#
#	examples/knowledge.sh notes.md "What are my notes about?"
set -euo pipefail
url=${SLUICE_URL:-http://127.0.0.1:8000}
file=${1:?name a file}
question=${2:?ask a question about it}

request() { curl -sS --fail-with-body "$@"; }

# field prints a text field of a JSON object. A real program uses a parser.
field() { grep -o "\"$1\": *\"[^\"]*\"" | head -n 1 | sed 's/^[^:]*: *"//; s/"$//'; }

# quote escapes a text for JSON, or a file name for curl.
quote() { printf '%s' "$1" | tr '[:cntrl:]' ' ' | sed 's/[\\"]/\\&/g'; }

id='' store=''
delete() {
	echo "== delete"
	[ -z "$store" ] || request -X DELETE "$url/v1/vector_stores/$store"
	[ -z "$id" ] || request -X DELETE "$url/v1/files/$id"
}
trap delete EXIT

echo "== upload"
uploaded=$(request "$url/v1/files" -F "file=@\"$(quote "$file")\"" -F purpose=qa) || {
	echo "$uploaded" # the error
	exit 1
}
id=$(field id <<<"$uploaded")
task=$(field task_id <<<"$uploaded")
echo "file $id"

echo "== wait"
while :; do
	state=$(request "$url/v1/tasks/$task")
	status=$(field status <<<"$state")
	echo "$status"
	case $status in
	completed) break ;;
	failed | cancelled)
		field failure_reason <<<"$state"
		exit 1
		;;
	esac
	sleep 0.2
done

echo "== vector store"
store=$(request "$url/v1/vector_stores" -H 'Content-Type: application/json' -d "{\"name\": \"example\", \"file_ids\": [\"$id\"]}" | field id)
echo "vector store $store"

echo "== ask: each event has the whole answer so far"
request -N "$url/v1/responses" -H 'Content-Type: application/json' -d "{
	\"input\": [{\"role\": \"user\", \"content\": \"$(quote "$question")\"}],
	\"tools\": [{\"type\": \"file_search\", \"vector_store_ids\": [\"$store\"]}]}"

echo "== the best passages, without an answer"
request "$url/v1/vector_stores/$store/search" -H 'Content-Type: application/json' -d "{\"query\": \"$(quote "$question")\", \"top_k\": 3}"
