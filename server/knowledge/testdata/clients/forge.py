"""Walks through the knowledge service as its public Python client does, and holds each reply to what that client accepts.

    python3 forge.py http://127.0.0.1:8000

What it knows of that client is what the contract says: no stream field and no Accept header, top-level snapshots, one line of at most
131,072 bytes, "event: done" as the end, HTTP 200 and nothing else, and models that drop an object for one field of the wrong type.
"""

import json
import re
import sys
import time
import urllib.parse
import uuid
from datetime import datetime

import httpx

BASE = sys.argv[1]
LINE = 131072  # aiohttp's limit, with the line break
ERRORS = """server_error rate_limit_exceeded invalid_prompt vector_store_timeout invalid_image invalid_image_format invalid_base64_image
invalid_image_url image_too_large image_too_small image_parse_error image_content_policy_violation invalid_image_mode image_file_too_large
unsupported_image_media_type empty_image_file failed_to_download_image image_file_not_found""".split()

http = httpx.Client(base_url=BASE, timeout=60, trust_env=False, headers={"User-Agent": "Python/3.11 aiohttp/3.9", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"})


def need(value, kinds, what):
    """Holds a value to its types; a bool is no number, as in the client's models."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if isinstance(value, bool) and bool not in kinds or not isinstance(value, kinds):
        raise SystemExit(f"{what}: {value!r:.200} is not {kinds}")
    return value


def fields(value, what, **kinds):
    need(value, dict, what)
    for name, kind in kinds.items():
        if name not in value:
            raise SystemExit(f"{what}: no {name}")
        need(value[name], kind, f"{what}.{name}")
    return value


def one_of(value, allowed, what):
    if value not in allowed:
        raise SystemExit(f"{what}: {value!r} is not one of {allowed}")


def instant(value, what):
    if isinstance(value, str):
        datetime.fromisoformat(value.replace("Z", "+00:00"))
    else:
        need(value, (int, float), what)


def call(method, path, want=200, **kw):
    reply = http.request(method, path, **kw)
    if reply.status_code != want:
        raise SystemExit(f"{method} {path}: {reply.status_code}, want {want}: {reply.text[:300]}")
    if want == 404:
        return None
    if "json" not in reply.headers["content-type"]:
        raise SystemExit(f"{method} {path}: {reply.headers['content-type']}")
    return reply.json()


# --- files, tasks, vector stores


def file_of(f, what):
    fields(f, what, id=str, object=str, filename=str, bytes=int, purpose=str, content_type=str, md5=str, status=str, task_id=str, metadata=dict)
    instant(f["created_at"], what)
    instant(f["updated_at"], what)
    if f["task_id"] != "upload-" + f["id"]:
        raise SystemExit(f"{what}: task {f['task_id']} of {f['id']}")
    return f


def upload(name, content, **more):
    """Sends a form as aiohttp does: the file first, its name percent-encoded, then the fields, each with a type."""
    boundary = uuid.uuid4().hex
    out = [f'--{boundary}\r\nContent-Type: application/octet-stream\r\nContent-Disposition: form-data; name="file"; filename="{urllib.parse.quote(name)}"\r\n\r\n'.encode(),
           content.encode(), b"\r\n"]
    for field, value in {"purpose": "general", **more}.items():
        out.append(f'--{boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode())
    out.append(f"--{boundary}--\r\n".encode())
    f = file_of(call("POST", "/v1/files", content=b"".join(out), headers={"Content-Type": f"multipart/form-data; boundary={boundary}"}), "upload")
    if f["filename"] != name:
        raise SystemExit(f"filename {f['filename']!r}, want {name!r}")
    return f


def wait(task):
    for _ in range(600):
        t = call("GET", f"/v1/tasks/{task}")
        fields(t, "task", id=str, object=str, type=str, status=str)
        instant(t["created_at"], "task")
        one_of(t["status"], ["pending", "in_progress", "completed", "failed", "cancelled"], "task.status")
        if not 0 <= need(t["progress"], (int, float), "task.progress") <= 100:
            raise SystemExit(f"progress {t['progress']}")
        for name in ("result", "data"):
            need(t.get(name), (dict, type(None)), "task." + name)
        if t["status"] in ("completed", "failed", "cancelled"):
            if t["status"] != "completed":
                raise SystemExit(f"task {t}")
            return task.replace("upload-", "")
        time.sleep(0.05)
    raise SystemExit("task does not end")


def store_of(vs):
    fields(vs, "vector store", id=str, object=str, name=str, file_ids=list, file_counts=dict, bytes=int, metadata=dict)
    fields(vs["file_counts"], "file_counts", in_progress=int, completed=int, failed=int, cancelled=int, total=int)
    instant(vs["created_at"], "vector store")
    return vs


def search(vs, query, top_k, **more):
    page = fields(call("POST", f"/v1/vector_stores/{vs}/search", json={"query": query, "top_k": top_k, **more}), "search",
                  object=str, search_query=str, data=list, has_more=bool, request_id=str, next_page=(str, type(None)))
    for row in page["data"]:
        fields(row, "row", file_id=str, filename=str, score=(int, float), content=list, attributes=dict)
        for part in row["content"]:
            fields(part, "row.content", type=str, text=str)
            one_of(part["type"], ["text"], "row.content.type")
    return page["data"]


def document(id):
    d = file_of(call("GET", f"/v1/files/{id}/content"), "document")
    fields(d, "document", md5sum=str, mime_type=str, title=str, created_at=str, updated_at=str, bookmarks=list, highlights=list, notes=list,
           related_docs=list, permissions=list, vector_store_ids=list, is_favorite=bool, is_delete=bool, size=int)
    c = fields(d["content"], "content", id=str, abstract=str, summary=str, outline=str, language=str, file_type=str, page_count=int, keywords=list,
               metadata=dict, vector_store_ids=list, contexts=list, images=list, segments=list)
    for i, s in enumerate(c["segments"]):
        fields(s, "segment", id=str, content=str, index=int, metadata=dict, url=str)
        if s["id"] != f"{c['id']}-P{i:04d}" or s["index"] != i:
            raise SystemExit(f"segment {i}: {s['id']}")
    return d


# --- responses


def item_of(item):
    kind = fields(item, "item", type=str, id=str, status=str)["type"]
    states = ["in_progress", "searching", "completed", "incomplete"]
    if kind == "message":
        fields(item, kind, role=str, content=list)
        one_of(item["role"], ["assistant"], "role")
        one_of(item["status"], ["in_progress", "completed", "incomplete"], "message.status")
        for part in item["content"]:
            fields(part, "part", type=str, text=str, annotations=list)
            for a in part["annotations"]:
                fields(a, "annotation", type=str, file_id=str, index=int, filename=str)
    elif kind in ("file_search_call", "web_search_call", "list_documents_call"):
        fields(item, kind, queries=list)
        one_of(item["status"], {"file_search_call": states + ["failed"], "web_search_call": ["in_progress", "searching", "completed", "failed"]}.get(kind, states), kind)
    elif kind in ("page_reader_call", "file_reader_call"):
        one_of(item["status"], states, kind)
        fields(item, kind, document_id=str, start_page=int)
    elif kind == "reasoning":
        for s in fields(item, kind, summary=list)["summary"]:
            fields(s, "summary", type=str, text=str)
    else:
        raise SystemExit(f"an item that no client knows: {kind}")
    if "progress" in item and not 0 <= need(item["progress"], (int, float), "progress") <= 1:
        raise SystemExit(f"progress {item['progress']}")


def response_of(r):
    """Holds an object to the client's model of a response: what fails here is dropped there, or ends the program."""
    fields(r, "response", id=str, object=str, created_at=(int, float), model=str, output=list, parallel_tool_calls=bool, tools=list, tool_choice=(str, dict))
    one_of(r["object"], ["response"], "object")
    one_of(r.get("status"), ["in_progress", "completed", "failed", "incomplete", None], "status")
    if isinstance(r["tool_choice"], str):
        one_of(r["tool_choice"], ["none", "auto", "required"], "tool_choice")
    for tool in r["tools"]:
        one_of(tool.get("type"), ["file_search", "function", "web_search", "web_search_preview", "computer_use_preview", "list_documents", "file_reader", "page_reader"], "tool")
        if tool["type"] in ("file_search", "list_documents"):
            fields(tool, "tool", vector_store_ids=list)
    if r.get("error") is not None:
        one_of(fields(r["error"], "error", code=str, message=str)["code"], ERRORS, "error.code")
    if r.get("incomplete_details") is not None:
        one_of(r["incomplete_details"].get("reason"), ["max_output_tokens", "content_filter", None], "incomplete_details")
    if r.get("usage") is not None:
        fields(r["usage"], "usage", input_tokens=int, output_tokens=int, total_tokens=int, input_tokens_details=dict, output_tokens_details=dict)
        fields(r["usage"]["input_tokens_details"], "details", cached_tokens=int)
        fields(r["usage"]["output_tokens_details"], "details", reasoning_tokens=int)
    if r.get("reasoning") is not None:
        one_of(r["reasoning"].get("effort"), ["low", "medium", "high", None], "reasoning.effort")
    if r.get("metadata") is not None and not all(isinstance(v, str) for v in r["metadata"].values()):
        raise SystemExit("metadata")
    for name, kinds in {"instructions": str, "temperature": (int, float), "top_p": (int, float), "max_output_tokens": int, "previous_response_id": str, "user": str}.items():
        if r.get(name) is not None:
            need(r[name], kinds, name)
    for item in r["output"]:
        item_of(item)
    text, notes = text_of(r)
    numbers = [int(n) for n in re.findall("⟦⟦(\\d+)⟧⟧", text)]
    if any(n < 1 or n > len(notes) for n in numbers):
        raise SystemExit(f"markers {numbers} of {len(notes)} annotations")
    places = [(a["file_id"], a["index"]) for a in notes]
    if len(set(places)) != len(places):
        raise SystemExit(f"a passage is cited twice: {places}")
    return r


def text_of(r):
    text, notes = "", []
    for item in r["output"]:
        if item["type"] == "message":
            for part in item["content"]:
                text += part["text"]
                notes += part["annotations"]
    return text, notes


def lines(reply):
    """Gives the lines of a stream, and fails at one that is too long, as aiohttp does."""
    held = b""
    for piece in reply.iter_bytes():
        held += piece
        while (end := held.find(b"\n")) >= 0:
            if end + 1 > LINE:
                raise SystemExit(f"a line of {end + 1} bytes")
            yield held[:end].decode()
            held = held[end + 1:]
        if len(held) > LINE:
            raise SystemExit("a line that does not end")


def ask(messages, tools, model="qwen-max-latest", effort="low"):
    """Asks as the client does and gives the last snapshot."""
    body = {"model": model, "effort": effort, "store": True, "temperature": 0.7, "max_output_tokens": 1000, "input": messages}
    if tools:
        body["tools"] = tools
    last, name, count = None, "", 0
    with http.stream("POST", "/v1/responses", json=body) as reply:
        if reply.status_code != 200:
            raise SystemExit(f"ask: {reply.status_code}: {reply.read()[:300]}")
        for line in lines(reply):
            line = line.strip()
            if line.startswith("event:"):
                name = line[6:].strip()
                if name == "done":
                    break
                if name == "error":
                    raise SystemExit("an error event")
            elif line.startswith("data:"):
                data = line[5:].strip()
                if not data.startswith("{"):
                    raise SystemExit(f"data that is no object: {data[:80]}")
                last, count = response_of(json.loads(data)), count + 1
        else:
            raise SystemExit("the stream ended without event: done")
    if last is None or last["status"] == "in_progress":
        raise SystemExit(f"the last of {count} snapshots is {last and last['status']}")
    if last["model"] != model:
        raise SystemExit(f"model {last['model']}, asked for {model}")
    return last


def main():
    gold = "# Gold\n\nGold settles behind the riffles of a sluice box because it is heavier than gravel. The water carries the gravel away.\n"
    tide = "# Tides\n\nThe tide rises twice a day, as the moon draws the sea. A spring tide comes with the full moon.\n"
    f = upload("报 no 1.md", gold, purpose="qa", parse_options=json.dumps({"summary": "enable", "vectorize": "enable"}))
    if wait(f["task_id"]) != f["id"]:
        raise SystemExit("the task's id does not give the file's")
    again = upload_again(gold)
    if again["id"] != f["id"]:
        raise SystemExit("a duplicate is another file")
    own = str(uuid.uuid4())
    g = upload("tides.md", tide, id=own)
    if g["id"] != own:
        raise SystemExit("the caller's id is not used")
    wait(g["task_id"])

    vs = store_of(call("POST", "/v1/vector_stores", json={"name": "Mine", "id": "mine-1", "description": "d", "file_ids": [f["id"]], "metadata": {"description": "d"}}))
    vs = store_of(call("POST", f"/v1/vector_stores/{vs['id']}", json={"join_file_ids": [g["id"]]}))
    if sorted(vs["file_ids"]) != sorted([f["id"], g["id"]]):
        raise SystemExit(f"joined: {vs['file_ids']}")
    while store_of(call("GET", "/v1/vector_stores/mine-1"))["file_counts"]["in_progress"]:
        time.sleep(0.05)
    top = search("mine-1", "Why does gold settle behind the riffles?", 5, filters=None)
    if top[0]["file_id"] != f["id"]:
        raise SystemExit(f"top: {top[0]}")
    listed = search("mine-1", "document content text information", 50)
    if sorted(r["file_id"] for r in listed) != sorted([f["id"], g["id"]]):
        raise SystemExit(f"listed: {listed}")
    document(f["id"])
    pages = call("GET", f"/v1/files/{f['id']}/pages", params={"start_page": 1, "end_page": 2})["pages"]
    if not pages or not isinstance(pages[0]["content"], str) or pages[0]["page_number"] != 1:
        raise SystemExit(f"pages: {pages}")
    updated = call("POST", f"/v1/files/{f['id']}/content", json={"title": "Of gold", "bookmarks": [1, 2], "is_favorite": True, "metadata": {"category": "ore"}})
    if updated["id"] != f["id"] or document(f["id"])["title"] != "Of gold":
        raise SystemExit(f"update: {updated}")
    fields(call("GET", "/v1/vector_stores/mine-1/summary", params={"model": "qwen-max", "max_tokens": 1000}), "summary",
           vector_store_id=str, summary_text=str, model_used=str, created_at=(int, float))

    search_tool = {"type": "file_search", "vector_store_ids": ["mine-1"], "max_num_results": 10}
    history = [{"role": "user", "content": "Why does gold settle behind the riffles?"}]
    r = ask(history, [search_tool])
    text, notes = text_of(r)
    if r["status"] != "completed" or "⟦⟦1⟧⟧" not in text or notes[0]["file_id"] != f["id"] or notes[0]["filename"] != "报 no 1.md":
        raise SystemExit(f"answer: {text} {notes}")
    history += [{"role": "assistant", "content": text}, {"role": "user", "content": "And what carries the gravel away?"}]
    text, _ = text_of(ask(history, [search_tool, {"type": "web_search"}, {"type": "page_reader"}], model=r["model"], effort="medium"))
    if "water" not in text:
        raise SystemExit(f"follow-up: {text}")
    text, notes = text_of(ask([{"id": "user_ab12", "role": "user", "content": [{"type": "input_file", "file_id": g["id"]},
                               {"type": "input_text", "text": f"{g['id']} When does the tide rise?"}]}], []))
    if "tide" not in text or any(a["file_id"] != g["id"] for a in notes):
        raise SystemExit(f"of a file: {text}")
    nothing = ask([{"role": "user", "content": "What is there?"}], [{"type": "file_search", "vector_store_ids": ["a1b2c3d4-e5f6-7890-abcd-ef1234567890"]}])
    if not text_of(nothing)[0]:
        raise SystemExit("no words about a vector store that is not there")
    for effort in ("high", "dev"):
        ask([{"role": "user", "content": "What is said of gold, and what of tides?"}], [search_tool, {"type": "list_documents", "vector_store_ids": ["mine-1"]}], effort=effort)
    once = response_of(call("POST", "/v1/responses", json={"model": "qwen3-235b-a22b", "messages": [{"role": "user", "content": "Why does gold settle?"}], "temperature": 1.0,
                            "tools": [{"type": "file_search", "vector_store_ids": ["mine-1"], "max_num_results": 10, "filters": None, "ranking_options": None}]}))
    if once["status"] != "completed":
        raise SystemExit(f"once: {once['status']}")
    stored = response_of(call("GET", f"/v1/responses/{r['id']}"))
    if text_of(stored) != text_of(r):
        raise SystemExit("the stored response is another")

    for path in (f"/v1/files/{g['id']}", "/v1/vector_stores/mine-1", f"/v1/files/{f['id']}"):
        fields(call("DELETE", path), path, id=str, object=str, deleted=bool)
        call("DELETE", path, want=404)
    call("GET", f"/v1/files/{f['id']}/content", want=404)
    call("GET", "/v1/vector_stores/mine-1", want=404)
    call("GET", "/v1/responses/run_nothing", want=404)
    fields(call("GET", "/v1/serverstatus"), "status", status=str, version=str, timestamp=int, uptime=int, services=dict, metrics=dict, features=dict)
    fields(call("GET", "/v1/serverstatus/health"), "health", status=str, timestamp=int)
    print("every reply is as the client takes it")


def upload_again(content):
    f = upload_raw("copy.md", content)
    wait(f["task_id"])
    return f


def upload_raw(name, content):
    """Uploads what may be there already: then the name is that of the file that is."""
    boundary = uuid.uuid4().hex
    form = (f'--{boundary}\r\nContent-Disposition: form-data; name="skip_exists"\r\n\r\ntrue\r\n--{boundary}\r\n'
            f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n{content}\r\n--{boundary}--\r\n')
    return file_of(call("POST", "/v1/files", content=form.encode(), headers={"Content-Type": f"multipart/form-data; boundary={boundary}"}), "duplicate")


main()
