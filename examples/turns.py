"""Asks a question in a new session of a Sluice server, and prints its steps, the answer and its citations. Needs only the standard library.

    python3 examples/turns.py "What happens to a slow reader?"
"""

import codecs
import json
import os
import sys
import urllib.error
import urllib.request

BASE = os.environ.get("SLUICE_URL", "http://127.0.0.1:8000") + "/v1/rag/sessions"


def phases(response):
    """Yields ("event", object) for each line, ("text", piece) for the answer as it arrives, and ("trailer", object) at the end."""
    phase, rest, text = 1, b"", codecs.getincrementaldecoder("utf-8")()
    while data := response.read1():
        rest += data
        if phase == 1:
            lines, mark, after = rest.partition(b"\x1d")
            *lines, part = lines.split(b"\n")
            yield from (("event", json.loads(line)) for line in lines)
            phase, rest = (2, after) if mark else (1, part)
        if phase == 2:
            piece, mark, after = rest.partition(b"\x1e")
            yield "text", text.decode(piece)
            phase, rest = (3, after) if mark else (2, b"")
    yield "trailer", json.loads(rest)


def post(url, **body):
    return urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"}), timeout=60)


try:
    with post(BASE) as response:
        session = json.load(response)["session_id"]
    with post(f"{BASE}/{session}/messages/stream", content=" ".join(sys.argv[1:]) or "What happens to a slow reader?", citations="inline") as response:
        for kind, value in phases(response):
            if kind == "event":
                print(value["type"], value["status"], value.get("query", value.get("action")), file=sys.stderr)
            elif kind == "text":
                print(value, end="", flush=True)
            else:
                print()
                for c in value["citations"]:
                    print(f"[{c['index']}] {c['title']}: {c['snippet']}")
                if "error" in value:
                    sys.exit(value["error"]["message"])
except urllib.error.HTTPError as err:
    sys.exit(json.load(err)["message"])
