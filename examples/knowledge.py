"""Uploads a file, waits until it is indexed, asks questions about it, prints the citations, and deletes it, with only the standard library.

    python3 examples/knowledge.py notes.md "What are my notes about?" "And why?"

Each event of the stream contains the whole answer so far, so a reader that misses some events loses nothing.
"""

import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

BASE = os.environ.get("SLUICE_URL", "http://127.0.0.1:8000")


def call(method, path, body=None, kind="application/json"):
    """Sends a request and returns the JSON object of the response."""
    if body is not None and kind == "application/json":
        body = json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, body, {"Content-Type": kind} if body is not None else {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)
    except urllib.error.HTTPError as err:
        raise SystemExit(f"{method} {path}: {err}: {err.read().decode()}") from None


def upload(path):
    """Uploads a file, which is indexed in the background."""
    boundary = uuid.uuid4().hex
    with open(path, "rb") as source:
        content = source.read()
    name = urllib.parse.quote(os.path.basename(path))
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    return call("POST", "/v1/files", head + content + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}")


def wait(file):
    """Waits until a file is indexed."""
    while True:
        task = call("GET", "/v1/tasks/" + file["task_id"])
        if task["status"] == "completed":
            return
        if task["status"] in ("failed", "cancelled"):
            raise SystemExit(task.get("failure_reason", task["status"]))
        time.sleep(0.2)


def snapshots(store, messages):
    """Yields the states of an answer. The last one is complete."""
    question = {"input": messages, "tools": [{"type": "file_search", "vector_store_ids": [store]}]}
    request = urllib.request.Request(BASE + "/v1/responses", json.dumps(question).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        for line in response:
            if line.startswith(b"event: done"):
                return
            if line.startswith(b"data: "):
                yield json.loads(line[6:])
    raise SystemExit("the stream was interrupted")


def text_of(response):
    """Returns the text of an answer with its citations. ⟦⟦n⟧⟧ marks citation n."""
    text, citations = "", []
    for item in response["output"]:
        for part in item.get("content", []):
            text += part["text"]
            citations += part["annotations"]
    return text, citations


def converse(store, questions):
    """Asks several questions as one conversation."""
    messages = []
    for question in questions:
        messages.append({"role": "user", "content": question})
        shown = ""
        print("\n>", question)
        for response in snapshots(store, messages):
            text, citations = text_of(response)
            if text.startswith(shown):
                print(re.sub("⟦⟦(\\d+)⟧⟧", r"[\1]", text[len(shown):]), end="", flush=True)
                shown = text
        print()
        for n, citation in enumerate(citations, 1):
            print(f"[{n}] {citation['filename']}, passage {citation['index']}")
        messages.append({"role": "assistant", "content": text})


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    file = upload(sys.argv[1])
    try:
        wait(file)
        print("uploaded", file["filename"])
        store = call("POST", "/v1/vector_stores", {"name": "example", "file_ids": [file["id"]]})["id"]
        try:
            converse(store, sys.argv[2:])
        finally:
            call("DELETE", "/v1/vector_stores/" + store)
    finally:
        call("DELETE", "/v1/files/" + file["id"])
    print("\ndeleted")


if __name__ == "__main__":
    main()
