"""Asks a Sluice server with only the standard library, and resumes the run after a lost connection.

    python3 examples/ask.py "What happens to a slow reader?"
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

BASE = os.environ.get("SLUICE_URL", "http://127.0.0.1:8000")


def events(response):
    """Yields the id and the data of server-sent events of a response."""
    last = None
    for line in response:
        if not line.endswith(b"\n"):
            return  # incomplete line
        line = line.decode().rstrip("\n")
        if line.startswith("id: "):
            last = line[4:]
        elif line.startswith("data: "):
            yield last, json.loads(line[6:])


def ask(query):
    """Yields each event of an answer once, over several connections if necessary."""
    question = json.dumps({"query": query}).encode()
    request = urllib.request.Request(BASE + "/api/query/stream", question, {"Content-Type": "application/json"})
    run = last = None
    failures = 0
    while failures < 5:
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                run = response.headers["Sluice-Run-Id"]
                for last, event in events(response):
                    failures = 0
                    yield event
                    if event["type"] == "done" or event["type"] == "error" and not event["recoverable"]:
                        return
        except urllib.error.HTTPError as err:
            yield json.load(err)
            return
        except (OSError, http.client.HTTPException):
            if run is None:  # unknown whether the question arrived: the caller decides
                raise
        time.sleep(0.2 * 2**failures)
        failures += 1
        headers = {"Last-Event-ID": last} if last else {}
        request = urllib.request.Request(f"{BASE}/runs/{run}/stream", headers=headers)
    raise ConnectionError("the connection was lost")


failed = False
try:
    for event in ask(" ".join(sys.argv[1:]) or "What happens to a slow reader?"):
        if event["type"] == "token":
            print(event["content"], end="", flush=True)
        elif event["type"] == "done":
            print(f"\nconfidence {event['confidence']}, {event['total_time_ms']} ms")
        elif event["type"] == "error":
            print(f"{event['code']}: {event['message']}", file=sys.stderr)
            failed = failed or not event["recoverable"]
except OSError as err:
    sys.exit(f"{BASE}: {err}")
sys.exit(failed)
