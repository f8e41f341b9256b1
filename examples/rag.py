"""Asks a Sluice server in the ragevents protocol with only the standard library, and prints the answer with its confidence and its sources.

    python3 examples/rag.py "What happens to a slow reader?"
"""

import json
import os
import sys
import urllib.error
import urllib.request

BASE = os.environ.get("SLUICE_URL", "http://127.0.0.1:8000")
question = " ".join(sys.argv[1:]) or "What happens to a slow reader?"
body = json.dumps({"question": question, "method": "HybridSearch"}).encode()
request = urllib.request.Request(BASE + "/functions/v1/rag", body, {"Content-Type": "application/json"})
completed = False
try:
    with urllib.request.urlopen(request, timeout=60) as response:
        for line in response:
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line[6:])
            if event["type"] == "results":
                print(event["chunk"], end="", flush=True)
            elif event["type"] == "events-answer-confidence":
                answer = json.loads(event["chunk"])
                print(f"\n{answer['confidence']} %{'' if answer['sourcesContributed'] else ' ⚠'}: {answer['reasoning']}")
            elif event["type"] == "transaction-summary":
                transaction = json.loads(event["chunk"])
                for source in transaction["sources"]:
                    print(f"{100 * source['portion']:.1f} % {source['source_title'] or source['source_url']}")
                print(f"fee {transaction['platform_fee']}")
            elif event["type"] == "progress":
                completed = completed or event["phase"] == "completed"
            elif event["type"] == "error":
                sys.exit(event["message"])
except urllib.error.HTTPError as err:
    sys.exit(json.load(err)["message"])
if not completed:
    sys.exit("the stream has no end")
