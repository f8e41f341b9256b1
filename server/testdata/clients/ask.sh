curl -N http://localhost:8000/api/query/stream \
  -H "Content-Type: application/json" \
  -d '{"query": "What are the main findings?", "mode": "agentic"}'
